! Arrays that are not what the layout says, or not there at all, are refused with a code and a sentence, and nothing is read.
! Runs in one process on the real library, in place.
! Before it: module damaris. After it: ctest.
program refused
  use damaris
  implicit none
  real :: field(64, 16, 2)
  real, allocatable :: nothing(:, :, :)
  real, pointer :: nowhere(:, :, :) => null(), flat(:) => null()
  integer :: ierr, i, failed = 0

  call df_write('field', 0, field, ierr)
  call expect(df_e_not_initialized, 'not initialized')
  call df_initialize('refused.xml', 0)
  call df_write('field', 0, dble(field), ierr)
  call expect(df_e_type, "'field' holds real32 (layout 'grid', refused.xml:4), the array holds real64")
  call df_write('field', 0, field(:, :, 1), ierr)
  call expect(df_e_shape, "'field' has 3 dimensions")
  call df_write('field', 0, field(:63, :, :), ierr)
  call expect(df_e_shape, 'the array is (63,16,2)')
  call assumed_size(field)
  call expect(df_e_shape, 'the array is (64,16,-1)')
  call df_write('field', 0, nowhere, ierr)
  call expect(df_e_argument, 'is NULL')
  allocate (nothing(64, 16, 2))
  deallocate (nothing)
  call absent(nothing)
  call expect(df_e_argument, 'is NULL')
  call df_write('feild', 0, field, ierr)
  call expect(df_e_unknown_name, "did you mean 'field'?")
  call df_alloc('field', 0, flat, ierr)
  call expect(df_e_shape, "'field' has 3 dimension(s), the pointer 1")
  call df_commit('field', 0, ierr)
  call expect(df_e_not_allocated, 'nothing was allocated')
  call df_initialize('refused.xml', 0, ierr)
  call expect(df_e_already_initialized, 'already initialized')
  call df_write('field', 0, field(:, [(i, i=16, 1, -1)], :))   ! a vector subscript is a temporary array, and allowed
  call df_write('field', 0, field, ierr)
  call expect(df_e_duplicate, 'already written')
  call df_end_iteration(3)
  call df_write('field', 2, field, ierr)
  call expect(df_e_backward, 'steps only count upwards')
  call df_finalize()
  call df_finalize(ierr)
  call expect(df_e_not_initialized, 'not initialized')
  if (failed > 0) error stop 1

contains

  subroutine assumed_size(array)
    real, intent(in) :: array(64, 16, *)
    call df_write('field', 0, array, ierr)
  end subroutine

  subroutine absent(array)
    real, allocatable, intent(in) :: array(:, :, :)
    call df_write('field', 0, array, ierr)
  end subroutine

  subroutine expect(code, part)
    integer, intent(in) :: code
    character(*), intent(in) :: part
    if (ierr == code .and. index(df_last_error(), part) > 0) return
    failed = failed + 1
    print '(a, i0, 4a)', 'FAILED: ', ierr, ' ', df_last_error(), ' has not: ', part
  end subroutine
end program
