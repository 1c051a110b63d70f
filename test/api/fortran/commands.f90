! A simulation that lets the shell run commands between its calls loses nothing by it.
! Runs in one process on the real library, in place.
! Before it: module damaris. After it: ctest.
program commands
  use damaris
  implicit none
  type(df_status_t) :: status
  real :: field(4)
  integer :: step, exit_status

  call df_initialize('commands.xml', 0)
  do step = 0, 2
    call execute_command_line('true', exitstat=exit_status)
    if (exit_status /= 0) error stop 'the command before the write'
    call df_write('field', step, field)
    call execute_command_line('true', wait=.false.)
    call df_end_iteration(step)
  end do
  call df_flush(2, 20000)
  call df_status(status)
  if (status%writes /= 3 .or. status%last_complete /= 2) error stop 'not all is there'
  call df_finalize()
end program
