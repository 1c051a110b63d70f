! Particles of a compound type whose number changes with step and rank; in one step a client has none.
! Run it on three ranks or more: mpirun -n 3 ./variable_size_f
program variable_size
  use mpi
  use damaris
  use damaris_mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: most = 8, steps = 4

  ! As the type "particle" in the XML; bind(c) fixes the order of the members.
  type, bind(c) :: particle
    real(c_double) :: position(3)
    real(c_float) :: charge
    integer(c_int) :: id
  end type

  type(particle) :: particles(most)
  character(256) :: config
  integer :: clients, ierr
  logical :: is_client

  config = 'variable_size.xml'
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
    integer :: rank, step, n
    call mpi_comm_rank(clients, rank, ierr)
    do step = 0, steps - 1
      call move_particles(rank, step, n)
      call df_set_shape('particles', [n])
      call df_write_compound('particles', step, particles(:n))
      call df_end_iteration(step)
    end do
  end subroutine

  subroutine move_particles(rank, step, n)
    integer, intent(in) :: rank, step
    integer, intent(out) :: n
    integer :: p
    n = 2*step + rank
    do p = 1, n
      particles(p)%position = [p - 1, rank, step]
      particles(p)%charge = merge(1, -1, mod(p, 2) == 1)
      particles(p)%id = 100*rank + p - 1
    end do
  end subroutine
end program
