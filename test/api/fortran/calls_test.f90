! Every routine without an array reaches its C function with its arguments, and codes come back as ierr and sentences.
! Runs in one process; the recorder stands for libdamaris.
! Before it: module damaris. After it: ctest.
program calls_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use damaris
  use checks
  implicit none

  call steps()
  call settings()
  call last_steps()
  call parameters()
  call codes()
  call pointers()
  call finish()

contains

  subroutine steps()
    integer :: ierr
    type(df_status_t) :: status
    ierr = 1
    call df_initialize('my config.xml   ', 3, ierr)
    call check(called() == 'initialize my config.xml' .and. recorded%step == 3 .and. ierr == 0, 'trailing blanks do not count')
    call df_signal('snapshot', 4)
    call check(called() == 'signal snapshot' .and. recorded%step == 4, 'df_signal')
    call df_commit('th', 5)
    call check(called() == 'commit th' .and. recorded%step == 5 .and. recorded%block == 0, 'df_commit')
    call df_commit_block('th', 5, 2)
    call check(called() == 'commit th' .and. recorded%block == 2, 'df_commit_block')
    call df_end_iteration(-6)
    call check(called() == 'end_iteration ' .and. recorded%step == -6, 'df_end_iteration')
    call df_flush(7, 2500)
    call check(called() == 'flush ' .and. recorded%step == 7 .and. recorded%value == 2500, 'df_flush')
    call df_set_time(8, 1.25d0)
    call check(called() == 'set_time ' .and. recorded%step == 8 .and. recorded%value == 1250, 'df_set_time')
    call df_status(status)
    call check(status%last_complete == 1 .and. status%last_durable == 2 .and. status%buffer_bytes == 3 .and. &
               status%buffer_used_bytes == 4 .and. status%largest_hole_bytes == 5 .and. status%events_waiting == 6 .and. &
               status%writes == 7 .and. status%waits == 8 .and. status%first_error == -9, 'df_status: each field in its place')
    call df_finalize()
    call check(called() == 'finalize ', 'df_finalize')
  end subroutine

  subroutine settings()
    integer :: n(4) = [4, 5, 6, 7]
    call df_set_shape('particles', [10])
    call check(called() == 'set_shape particles' .and. recorded%ndims == 1 .and. recorded%extents(1) == 10, 'df_set_shape')
    call df_set_shape('grid', int([10, 20], int64))
    call check(recorded%ndims == 2 .and. all(recorded%extents(:2) == [10, 20]), 'df_set_shape of 64 bits')
    call df_set_position('grid', n(1:3:2))
    call check(called() == 'set_position grid' .and. all(recorded%extents(:2) == [4, 6]), 'df_set_position of a section')
    call df_set_position('grid', [5000000000_int64])
    call check(recorded%extents(1) == 5000000000_int64, 'df_set_position of 64 bits')
  end subroutine

  subroutine last_steps()
    integer :: step, ierr
    answer%parameter = 42
    step = 7
    call df_last_step('th ', step)
    call check(called() == 'last_step th' .and. step == 42, 'df_last_step of a variable')
    call df_last_step(' ', step)
    call check(called() == 'last_step any variable', 'df_last_step of anything')
    answer%code = df_e_not_stored
    call df_last_step('th', step, ierr)
    call check(ierr == df_e_not_stored .and. step == 42, 'without a step to go on from, it stays as it was')
    answer%code = 0
    answer%parameter = 5000000000_int64
    call df_last_step('th', step, ierr)
    call check(ierr == df_e_argument .and. step == 42, 'a step beyond a default integer is refused')
  end subroutine

  subroutine parameters()
    integer(int32) :: small
    integer(int64) :: large
    integer :: ierr
    call df_set_parameter('n', 12)
    call check(called() == 'set_parameter n' .and. recorded%value == 12, 'df_set_parameter')
    call df_set_parameter('n', 5000000000_int64)
    call check(recorded%value == 5000000000_int64, 'df_set_parameter of 64 bits')
    answer%parameter = -17
    call df_get_parameter('n', small)
    call check(called() == 'get_parameter n' .and. small == -17, 'df_get_parameter')
    answer%parameter = -2147483648_int64
    call df_get_parameter('n', small, ierr)
    call check(ierr == df_ok .and. small == -huge(small) - 1, 'the lowest number of 32 bits fits')
    answer%parameter = -huge(large) - 1
    call df_get_parameter('n', small, ierr)
    call check(ierr == df_e_argument, 'the lowest number of 64 bits does not fit into 32')
    answer%parameter = 5000000000_int64
    call df_get_parameter('n', large)
    call check(large == 5000000000_int64, 'df_get_parameter of 64 bits')
    call df_get_parameter('n', small, ierr)
    call check(ierr == df_e_argument .and. index(df_last_error(), 'too large') > 0, 'a value that does not fit is an error')
  end subroutine

  subroutine codes()
    integer :: ierr
    call check(df_e_unknown_name == -103 .and. df_e_internal == -900 .and. df_ok == 0, 'codes are those of status.h')
    answer%code = df_e_full
    call df_signal('x', 1, ierr)
    call check(ierr == df_e_full, 'ierr is the code')
    call check(df_last_error() == 'the sentence of the library', 'the sentence of the library is the last one')
    call check(df_strerror(ierr) == 'buffer full', 'df_strerror')
    answer%code = 1
    call df_signal('x', 1, ierr)
    call check(ierr == 0, 'a notice is no failure')
    call df_signal('x', 1)
    answer%code = 0
  end subroutine

  subroutine pointers()
    real, pointer :: flat(:) => null(), cube(:, :, :) => null()
    integer, pointer :: whole(:) => null()
    character, target :: block(96)
    integer :: ierr

    answer%block = c_loc(block)
    answer%layout%element = 9
    answer%layout%ndims = 3
    answer%layout%fortran_order = 1
    answer%layout%extents(:3) = [2, 3, 4]
    call df_alloc('th', 1, cube, ierr)
    call check(ierr == 0 .and. all(shape(cube) == [2, 3, 4]) .and. all(lbound(cube) == 1), 'extents of the layout')
    call df_alloc('th', 1, flat, ierr)
    call check(ierr == df_e_shape .and. .not. associated(flat), 'a pointer of another rank is refused')
    call check(index(df_last_error(), "'th' has 3 dimension(s), the pointer 1") == 1, 'and the sentence says so')
    call df_alloc('th', 1, whole, ierr)
    call check(ierr == df_e_type .and. .not. associated(whole), 'a pointer of another type is refused')
    call check(index(df_last_error(), "'th' has elements of real(real32), the pointer is integer(int32)") == 1, 'and why')
    answer%layout%fortran_order = 0
    call df_alloc('th', 1, cube, ierr)
    call check(ierr == df_e_shape .and. index(df_last_error(), 'language="fortran"') > 0, 'a layout in C order is refused')
    answer%layout%fortran_order = 1
    answer%code = df_e_full
    call df_alloc('th', 1, cube, ierr)
    call check(ierr == df_e_full .and. df_last_error() == 'the sentence of the library', 'the library reports a full buffer')
    answer%code = 0
  end subroutine
end program
