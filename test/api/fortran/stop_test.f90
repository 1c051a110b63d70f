! A failing call without ierr: the test asserts that it prints the sentence and stops here.
! Runs in one process; the recorder stands for libdamaris.
! Before it: module damaris. After it: the shell test.
program stop_test
  use damaris
  use checks
  implicit none
  answer%code = df_e_full
  call df_signal('x', 1)
  print '(a)', 'the program went on'
end program
