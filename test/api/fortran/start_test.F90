! df_mpi_initialize with integer communicators (`use mpi`), or with those of mpi_f08 when MPI_MODULE says so.
! Runs on three ranks: two clients and a server.
! Before it: module damaris_mpi. After it: ctest reads the exit status and the line of rank 0.
program start_test
  use MPI_MODULE
  use damaris
  use damaris_mpi
  implicit none
#ifdef F08
  type(MPI_Comm) :: clients
#else
  integer :: clients
#endif
  integer :: ierr, world_rank, ranks, bad
  logical :: is_client

  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, world_rank, ierr)
  call df_mpi_initialize('missing.xml', MPI_COMM_WORLD, clients, is_client, bad)
  if (bad /= df_e_config) call give_up('a missing XML must be an error on every rank')
  call df_mpi_initialize('start_test.xml', MPI_COMM_WORLD, clients, is_client, ierr)
  if (ierr /= 0) call give_up(df_last_error())
  if (is_client) then
    call mpi_comm_size(clients, ranks, ierr)
    if (ranks /= 2) call give_up('there must be two clients')
    call df_end_iteration(0)
    call df_finalize()
  else if (clients /= MPI_COMM_NULL) then
    call give_up('a server gets no communicator')
  end if
  if (world_rank == 2 .and. is_client) call give_up('the last rank must be the server')
  call mpi_finalize(ierr)
  if (world_rank == 0) print '(a)', 'started and ended'

contains

  subroutine give_up(sentence)
    character(*), intent(in) :: sentence
    print '(2a)', 'FAILED: ', sentence
    call mpi_abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program
