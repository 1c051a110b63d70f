! A client without MPI. The XML decides whether a server of its own does the writing or this process itself.
! Run two of them: ./no_mpi_f detached.xml 0 & ./no_mpi_f detached.xml 1; wait
program no_mpi
  use damaris
  implicit none
  integer, parameter :: cells = 20, steps = 3
  character(256) :: config, argument
  integer :: id

  if (command_argument_count() /= 2) then
    print '(a)', 'usage: no_mpi_f CONFIG ID   (each process of a run has another ID: 0, 1, ...)'
    stop 2
  end if
  call get_command_argument(1, config)
  call get_command_argument(2, argument)
  read (argument, *) id
  call df_initialize(config, id)
  call simulate()
  call df_flush(steps - 1, 30000)   ! not needed: it shows how to wait until the files are safe
  call df_finalize()

contains

  subroutine simulate()
    double precision :: height(cells)
    integer :: step, i
    do step = 0, steps - 1
      height = [(1000*step + 100*id + i - 1, i=1, cells)]
      call df_write('height', step, height)
      call df_end_iteration(step)
    end do
  end subroutine
end program
