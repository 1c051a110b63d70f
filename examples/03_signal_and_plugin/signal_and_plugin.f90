! Every second step the clients signal "look": the dedicated core then calls the plugin on the data of that step.
! Run it on three ranks or more: mpirun -n 3 ./signal_and_plugin_f
program signal_and_plugin
  use mpi
  use damaris
  use damaris_mpi
  implicit none
  integer, parameter :: cells = 100, steps = 4
  character(256) :: config
  integer :: clients, ierr
  logical :: is_client

  config = 'signal_and_plugin.xml'
  if (command_argument_count() > 0) call get_command_argument(1, config)
  call mpi_init(ierr)
  call df_mpi_initialize(config, MPI_COMM_WORLD, clients, is_client)
  if (is_client) then
    call simulate()
    call df_finalize()
  end if
  call mpi_finalize(ierr)

contains

  subroutine simulate()
    double precision :: temperature(cells)
    integer :: rank, step, i
    call mpi_comm_rank(clients, rank, ierr)
    do step = 0, steps - 1
      do i = 1, cells
        temperature(i) = 100*rank + i - 1 + 0.25d0*step
      end do
      call df_write('temperature', step, temperature)
      if (mod(step, 2) == 0) call df_signal('look', step)   ! after the data it is about, before the end of the step
      call df_end_iteration(step)
    end do
  end subroutine
end program
