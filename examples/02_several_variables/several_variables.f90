! Several variables in a step: the interiors of two fields with a halo, which the server joins to global arrays, and a number.
! Run it on three ranks or more: mpirun -n 3 ./several_variables_f
program several_variables
  use mpi
  use damaris
  use damaris_mpi
  implicit none
  integer, parameter :: nx = 6, ny = 4, halo = 1, steps = 2
  real :: temperature(1 - halo:nx + halo, 1 - halo:ny + halo)
  double precision :: pressure(1 - halo:nx + halo, 1 - halo:ny + halo)
  character(256) :: config
  integer :: clients, ierr
  logical :: is_client

  config = 'several_variables_fortran.xml'
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
    integer :: rank, tiles, step
    call mpi_comm_rank(clients, rank, ierr)
    call mpi_comm_size(clients, tiles, ierr)
    call df_set_parameter('tiles', tiles)
    call df_set_position('field', [rank*nx, 0])   ! offsets count from zero
    call df_set_position('fine_field', [rank*nx, 0])
    do step = 0, steps - 1
      call compute(rank, step)
      ! Sections: nothing but the interior is copied, and nothing in between.
      call df_write('temperature', step, temperature(1:nx, 1:ny))
      call df_write('pressure', step, pressure(1:nx, 1:ny))
      call df_write('iterations', step, 10*step + rank)
      call df_set_time(step, 0.25d0*step)
      call df_end_iteration(step)
    end do
  end subroutine

  ! A value that encodes its place in the global array; the halo is 0.
  subroutine compute(rank, step)
    integer, intent(in) :: rank, step
    integer :: i, j, place
    temperature = 0
    pressure = 0
    do j = 1, ny
      do i = 1, nx
        place = 1000*step + 100*(j - 1) + rank*nx + i - 1
        temperature(i, j) = real(place)
        pressure(i, j) = place + 0.5d0
      end do
    end do
  end subroutine
end program
