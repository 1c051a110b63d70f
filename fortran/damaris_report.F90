! Passes a return code to the caller's ierr, or, without an ierr, stops the program after an error.
! Used by: every df_ routine, as its last statement; df_last_error and df_strerror also by the simulation.
! Before it: a C function's code. After it: the simulation, or standard error and the end of the program.
module damaris_report
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use damaris_c, only: dc_last_error, dc_strerror
  implicit none
  private
  public :: report, tell, end_program, may_be_own, df_last_error, df_strerror

  ! The codes of status.h: df_e_unknown_name is DC_E_UNKNOWN_NAME.
#include "damaris_codes.inc"

  ! The sentence of the last error, if this layer found it; blank if libdamaris did. One for the process, not for each thread.
  character(512), save :: own_sentence = ''

contains

  ! Passes `code` to ierr. A notice gives 0, so that "ierr /= 0" always means an error.
  !   code      a dc_code. An error without ierr prints its sentence to standard error and stops the program with status 1.
  !   sentence  of an error that this layer found; blank or absent when libdamaris has the sentence.
  subroutine report(code, ierr, sentence)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: ierr
    character(*), intent(in), optional :: sentence

    if (code < 0) then
      own_sentence = ''
      if (present(sentence)) own_sentence = sentence
    end if
    if (present(ierr)) then
      ierr = min(code, 0)
    else if (code < 0) then
      call tell(code)
      call end_program()
    end if
  end subroutine

  ! Prints the sentence of the last error, whose code is `code`.
  subroutine tell(code)
    integer(c_int), intent(in) :: code
    write (error_unit, '(4a)') 'damaris: ', df_strerror(code), ': ', df_last_error()
  end subroutine

  ! Whether an error of the start may be of this rank alone; the others are the same on all ranks.
  logical function may_be_own(code)
    integer(c_int), intent(in) :: code
    may_be_own = any(code == [df_e_no_mpi, df_e_argument, df_e_already_initialized, df_e_forked])
  end function

  ! With status 1. Not by error stop, which adds a backtrace of this library to the sentence.
  subroutine end_program()
    interface
      subroutine exit_c(status) bind(c, name='exit')
        import
        integer(c_int), value :: status
      end subroutine
    end interface
    flush (error_unit)
    call exit_c(1_c_int)
  end subroutine

  ! Returns the full sentence of the last error: place, cause, remedy; blank before the first. The caller owns the text.
  !   Threads  programs with one thread only: the sentence of an error that this layer found is kept once for the process.
  function df_last_error() result(text)
    character(:), allocatable :: text
    if (own_sentence /= '') then
      text = trim(own_sentence)
    else
      text = from_c(dc_last_error())
    end if
  end function

  ! Returns a short text for the value of an ierr, also for a number that is not a code. The caller owns the text.
  function df_strerror(code) result(text)
    integer, intent(in) :: code
    character(:), allocatable :: text
    text = from_c(dc_strerror(int(code, c_int)))
  end function

  ! Returns a copy of a C text that ends with a zero byte.
  function from_c(string) result(text)
    type(c_ptr), intent(in) :: string
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: length(1)
    integer :: i
    interface
      integer(c_size_t) function strlen(string) bind(c)
        import
        type(c_ptr), value :: string
      end function
    end interface
    length(1) = strlen(string)
    call c_f_pointer(string, letters, length)
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function
end module
