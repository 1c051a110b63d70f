! An outside simulation in Fortran and C under MPI: three ranks, the last of which becomes the server.
program main
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use mpi
  use damaris
  use damaris_mpi
  implicit none
  interface
    function value(rank, step, i) bind(c)
      import :: c_double, c_int
      integer(c_int), value :: rank, step, i
      real(c_double) :: value
    end function
  end interface
  real(c_double) :: x(8)
  integer :: step, i, clients, rank, size, ierr
  logical :: is_client

  call MPI_Init(ierr)
  call df_mpi_initialize('run.xml', MPI_COMM_WORLD, clients, is_client)
  if (is_client) then
    call MPI_Comm_rank(clients, rank, ierr)
    call MPI_Comm_size(clients, size, ierr)
    do step = 0, 2
      x = [(value(rank, step, i), i=0, 7)]
      call df_write('x', step, x)
      call df_end_iteration(step)
    end do
    call df_finalize()
    if (rank == 0) print '(a,i0,a)', 'stored with damaris by ', size, ' clients'
  end if
  call MPI_Finalize(ierr)
end program
