! Arrays of several types, whole and by section, are appended to a log as their bytes, in the order of their elements.
! Runs in one process on the real library, in place; check_logs.py reads what was appended.
! Before it: module damaris. After it: ctest.
program logs
  use, intrinsic :: iso_c_binding
  use damaris
  implicit none
  type(df_position_t) :: where
  integer(c_int32_t) :: grid(4, 3)
  integer :: i, ierr

  call df_initialize('logs.xml', 0)
  grid = reshape([(i, i=1, 12)], [4, 3])
  call df_append('events', grid, where)
  if (where%file /= 0 .or. where%offset /= 0) error stop 'the first append is not at the beginning'
  call df_append('events', grid(2:4:2, 3:1:-2), where)
  if (where%offset /= 48) error stop 'the section is not behind the array'
  call df_append('events', 'text')
  call df_append('events', grid(1:0, :), where)
  if (where%offset /= 68) error stop 'an empty section has appended something'
  call df_append('event', grid, ierr=ierr)
  if (ierr /= df_e_unknown_name) error stop 'a log that is not there'
  if (index(df_last_error(), "did you mean 'events'") == 0) error stop 'the nearest name is not said'
  call df_log_commit('events', -1, ierr)
  if (ierr /= df_e_argument) error stop 'a negative time-out'
  call df_log_commit('events', 20000)
  call df_finalize()
end program
