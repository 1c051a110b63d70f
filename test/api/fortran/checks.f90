! What the Fortran tests share: checks that count failures, and the recorder's record as Fortran sees it.
! Used by: the test programs of this folder.
! Before it: recorder.c. After it: ctest reads the exit status of finish.
module checks
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: record
    character(kind=c_char) :: function(32), name(64)
    integer(c_int64_t) :: step, value
    integer(c_int32_t) :: block
    integer(c_int) :: element, ndims
    integer(c_int64_t) :: extents(16), strides(16)
    type(c_ptr) :: address
  end type

  type, bind(c) :: layout
    integer(c_int) :: element
    integer(c_int64_t) :: element_bytes
    integer(c_int) :: ndims, fortran_order
    integer(c_int64_t) :: extents(8), bytes
  end type

  type, bind(c) :: answers
    integer(c_int) :: code
    type(layout) :: layout
    type(c_ptr) :: block
    integer(c_int64_t) :: parameter
  end type

  type(record), bind(c, name='recorded') :: recorded
  type(answers), bind(c, name='answer') :: answer

  integer, private, save :: checked = 0, failed = 0

contains

  subroutine check(holds, sentence)
    logical, intent(in) :: holds
    character(*), intent(in) :: sentence
    checked = checked + 1
    if (holds) return
    failed = failed + 1
    print '(2a)', 'FAILED: ', sentence
  end subroutine

  subroutine finish()
    print '(i0, a, i0, a)', checked, ' checks, ', failed, ' failed'
    if (failed > 0 .or. checked == 0) error stop 1
  end subroutine

  ! What was called last, as "function name".
  function called() result(text)
    character(:), allocatable :: text
    text = letters(recorded%function)//' '//letters(recorded%name)
  end function

  function letters(c_text) result(text)
    character(kind=c_char), intent(in) :: c_text(:)
    character(:), allocatable :: text
    integer :: i
    text = ''
    do i = 1, size(c_text)
      if (c_text(i) == c_null_char) return
      text = text//c_text(i)
    end do
  end function

  ! The last call handed over `address` itself, with these extents and strides.
  subroutine check_array(what, address, element, extents, strides)
    character(*), intent(in) :: what
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: element, extents(:), strides(:)
    integer :: n
    n = size(extents)
    call check(c_associated(recorded%address, address), what//': the address is that of the first element, no copy')
    call check(recorded%element == element, what//': element type')
    call check(recorded%ndims == n, what//': number of dimensions')
    call check(all(recorded%extents(:n) == extents), what//': extents')
    call check(all(recorded%strides(:n) == strides), what//': strides')
  end subroutine

  ! Strides in bytes of a contiguous array, fastest dimension first.
  function packed(extents, element_bytes) result(strides)
    integer, intent(in) :: extents(:), element_bytes
    integer :: strides(size(extents)), i
    do i = 1, size(extents)
      strides(i) = element_bytes*product(extents(:i - 1))
    end do
  end function
end module
