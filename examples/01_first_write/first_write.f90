! Each client hands a tile of temperature to the dedicated core in three steps and goes on computing.
! Run it on three ranks or more: mpirun -n 3 ./first_write_f
!
! Without ierr, a df_ routine that fails prints what is wrong and stops the program.
program first_write
  use mpi
  use damaris
  use damaris_mpi
  implicit none
  integer, parameter :: nx = 8, ny = 4, steps = 3
  character(256) :: config
  integer :: clients, ierr
  logical :: is_client

  config = 'first_write_fortran.xml'
  if (command_argument_count() > 0) call get_command_argument(1, config)
  call mpi_init(ierr)
  call df_mpi_initialize(config, MPI_COMM_WORLD, clients, is_client)
  if (is_client) then   ! a dedicated core comes here when all clients have finalized and has nothing more to do
    call simulate()
    call df_finalize()
  end if
  call mpi_finalize(ierr)

contains

  subroutine simulate()
    double precision :: temperature(nx, ny)
    integer :: rank, step
    call mpi_comm_rank(clients, rank, ierr)
    do step = 0, steps - 1
      call compute(temperature, rank, step)
      call df_write('temperature', step, temperature)   ! copied: the array may be reused at once
      call df_end_iteration(step)                       ! nothing waits here: the dedicated core writes the file
    end do
  end subroutine

  subroutine compute(temperature, rank, step)
    double precision, intent(out) :: temperature(nx, ny)
    integer, intent(in) :: rank, step
    integer :: i, j
    do j = 1, ny
      do i = 1, nx
        temperature(i, j) = 1000*step + 100*rank + 10*(j - 1) + (i - 1)
      end do
    end do
  end subroutine
end program
