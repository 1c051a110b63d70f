! An outside simulation in Fortran: writes one variable for three steps, with its own process as the server.
program main
  use damaris
  implicit none
  real(kind=kind(1d0)) :: x(8)
  integer :: step, i

  call df_initialize('run.xml', 0)
  do step = 0, 2
    x = [(10d0*step + i, i=0, 7)]
    call df_write('x', step, x)
    call df_end_iteration(step)
  end do
  call df_finalize()
  print '(a)', 'stored with damaris'
end program
