! The kinetic energy is output only. So it is computed in the shared memory itself: no array for it, and no copy of it.
! Run it on three ranks or more: mpirun -n 3 ./alloc_commit_f
program alloc_commit
  use mpi
  use damaris
  use damaris_mpi
  implicit none
  integer, parameter :: cells = 50, steps = 3
  double precision :: velocity(cells)
  character(256) :: config
  integer :: clients, ierr
  logical :: is_client

  config = 'alloc_commit.xml'
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
    integer :: rank, step
    call mpi_comm_rank(clients, rank, ierr)
    do step = 0, steps - 1
      call advance(rank, step)
      call write_energy(step)
      call df_end_iteration(step)
    end do
  end subroutine

  subroutine advance(rank, step)
    integer, intent(in) :: rank, step
    integer :: i
    velocity = [(step + 10*rank + 0.5d0*(i - 1), i=1, cells)]
  end subroutine

  subroutine write_energy(step)
    integer, intent(in) :: step
    double precision, pointer :: energy(:) => null()
    call df_alloc('energy', step, energy)   ! with the extents of the layout; ours until commit
    energy = 0.5d0*velocity**2
    call df_commit('energy', step)          ! the server's now
    nullify (energy)
  end subroutine
end program
