! Starts Damaris inside an MPI program in Fortran: `use damaris_mpi` beside `use damaris`, with `use mpi` or `use mpi_f08`.
! Used by: every rank of the simulation, once a session, by the thread that may call MPI, after MPI_Init.
! Before it: the simulation's start. After it: clients continue with module damaris; a server serves inside the call until all
! clients have finalized.
module damaris_mpi
  use, intrinsic :: iso_c_binding
#ifdef DAMARIS_HAVE_MPI_F08
  use mpi_f08, only: MPI_Comm
#endif
  use damaris_report, only: report, tell, end_program, may_be_own
  implicit none
  private
  public :: df_mpi_initialize

  ! df_mpi_initialize(config, comm, clients_comm, is_client, ierr): splits `comm`: on every node the last `dedicated cores` ranks
  ! become servers, the others clients.
  !   config        path of the XML, readable by every rank with the same content.
  !   comm          integer (use mpi) or type(MPI_Comm) (use mpi_f08), as clients_comm; stays the caller's.
  !   clients_comm  gets the communicator of all clients, which the simulation uses in place of `comm`. MPI_COMM_NULL on a server,
  !                 and after an error.
  !   is_client     .false. on a server, where the call returns when all clients have finalized and their data are durable; the
  !                 server then only has to call MPI_Finalize. .true. on a client and after an error of the start.
  !   Owns          the caller may free clients_comm, the library never does; valid until MPI_Finalize, also after df_finalize.
  !   Collective    over `comm`.
  !   Waits         as dc_mpi_initialize: for another run that is in the way at most the XML's attach timeout; a server for its
  !                 clients.
  !   Errors        when a rank cannot start, the same error on every rank of `comm`: df_e_config, df_e_config_mismatch,
  !                 df_e_placement, df_e_region_in_use, df_e_stale_region, df_e_shm, df_e_timeout, df_e_no_output, df_e_plugin; no
  !                 rank is client or server then. On the calling rank alone df_e_no_mpi before MPI_Init and after MPI_Finalize,
  !                 df_e_argument for `comm`, and df_e_already_initialized. On a server, after all clients have finalized, the first
  !                 failure of the run: df_e_io, df_e_plugin, df_e_client_lost, df_e_timeout, df_e_duplicate, df_e_shape,
  !                 df_e_stopped. See damaris_mpi.h.
  !                 Without ierr such a failure stops the program, too; rank 0 of `comm` alone tells an error that all have.
  interface df_mpi_initialize
    module procedure initialize_integer
#ifdef DAMARIS_HAVE_MPI_F08
    module procedure initialize_f08
#endif
  end interface

  ! dc_mpi_initialize with communicators as integers (src/mpi/fortran_start.c); returns its codes.
  interface
    integer(c_int) function start(config, world, clients, is_client) bind(c, name='damaris_mpi_initialize_fortran')
      import
      character(kind=c_char), intent(in) :: config(*)
      integer(c_int), value :: world
      integer(c_int), intent(out) :: clients
      integer(c_int), intent(out) :: is_client
    end function
  end interface

contains

  ! See df_mpi_initialize.
  subroutine initialize_integer(config, comm, clients_comm, is_client, ierr)
    character(*), intent(in) :: config
    integer, intent(in) :: comm
    integer, intent(out) :: clients_comm
    logical, intent(out) :: is_client
    integer, intent(out), optional :: ierr
    integer(c_int) :: code, client

    client = 0
    code = start(trim(config)//c_null_char, comm, clients_comm, client)
    is_client = client /= 0
    if (code < 0 .and. is_client .and. .not. present(ierr)) call end_start(code, comm)
    call report(code, ierr)
  end subroutine

  ! After an error of the start that all ranks of `comm` have: the first tells it, before any ends and takes the others with it.
  subroutine end_start(code, comm)
    integer(c_int), intent(in) :: code
    integer, intent(in) :: comm
    integer :: rank, ignored
    external :: mpi_comm_rank, mpi_barrier
    if (may_be_own(code)) return
    call mpi_comm_rank(comm, rank, ignored)
    if (rank == 0) call tell(code)
    call mpi_barrier(comm, ignored)
    call end_program()
  end subroutine

#ifdef DAMARIS_HAVE_MPI_F08
  ! See df_mpi_initialize.
  subroutine initialize_f08(config, comm, clients_comm, is_client, ierr)
    character(*), intent(in) :: config
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Comm), intent(out) :: clients_comm
    logical, intent(out) :: is_client
    integer, intent(out), optional :: ierr
    call initialize_integer(config, comm%mpi_val, clients_comm%mpi_val, is_client, ierr)
  end subroutine
#endif
end module
