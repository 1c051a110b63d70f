! The routines with array arguments: df_write, df_read, df_alloc, df_append and their variants, for every type, kind and rank.
! Used by: simulation processes, by one thread at a time.
! Before it: the simulation's arrays, whole or by section. After it: sections.c, which passes address and strides to libdamaris.
!
! One routine for each type takes every rank, so the compiler refuses a type that no layout can have. Neither a contiguous array nor
! a section such as a(1:n, 1:m) is copied on the way.
module damaris_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use damaris_c
  use damaris_logs, only: df_position_t, append_section
  use damaris_report, only: report
  implicit none
  private
  public :: df_handle, df_variable, df_write, df_write_block, df_write_to, df_write_compound
  public :: df_read, df_read_block, df_read_compound
  public :: df_append
  public :: df_alloc, df_alloc_block

  ! A handle of a variable from df_variable. The library owns it; valid until df_finalize. Cheap to copy.
  type df_handle
    private
    type(c_ptr) :: variable = c_null_ptr
  end type

  ! df_write(name, step, array, ierr): copies `array` into the region as block 0 of the variable `name` at `step`, and ends all
  ! earlier steps. The array may be changed at once.
  !   array   of any rank: integer of 8 to 64 bits, real of 32 or 64 bits, character; whole or a section, of the layout's kind and
  !           extents in elements, ghost zones included. Element (i, j) of the array becomes element (i, j) of the layout: with
  !           language="fortran" in the memory order of the array, with a layout in C order reordered.
  !   Waits   at most the XML's buffer timeout for a full lane, and again for room in the buffer.
  !   ierr    0 also when nothing is copied: the variable is switched off or not due, or skipped or dropped by on-full.
  !   Errors  df_e_unknown_name, df_e_type, df_e_shape, df_e_duplicate, df_e_backward, df_e_too_large, df_e_iteration_too_large,
  !           df_e_full after the wait, df_e_server_lost. Nothing is copied then. After df_e_full the step may be open, and the call
  !           can be repeated.
  interface df_write
    module procedure write_int8, write_int16, write_int32, write_int64, write_real32, write_real64, write_text
  end interface

  ! df_write_block(name, step, block, array, ierr): df_write for block `block` (0 or more) of a client that has several blocks of
  ! one variable. Errors as df_write.
  interface df_write_block
    module procedure write_block_int8, write_block_int16, write_block_int32, write_block_int64
    module procedure write_block_real32, write_block_real64, write_block_text
  end interface

  ! df_write_to(handle, step, array, ierr): df_write through a handle; see dc_write_to for its cost.
  !   Errors  as df_write; df_e_argument for a handle that df_variable has not set in this session.
  interface df_write_to
    module procedure write_to_int8, write_to_int16, write_to_int32, write_to_int64
    module procedure write_to_real32, write_to_real64, write_to_text
  end interface

  ! df_read(name, step, array, ierr): fills `array` with the values of `name` (block 0) at `step` that the run of restart="..." in
  ! the XML stored. With a position (df_set_position) it reads that part of the global array, without one the block of the client
  ! with this id. Opens and ends no step.
  !   array   as for df_write. Its ghost zones keep their values, and after an error the whole array does.
  !   Waits   for a full lane, for room in the buffer, and for the server and the storage: each at most the XML's buffer timeout.
  !   Errors  df_e_not_stored when the run lacks the step or a part of the array; df_e_config when the XML names no run;
  !           df_e_unknown_name, df_e_type, df_e_shape, df_e_io, df_e_too_large, df_e_full, df_e_timeout, df_e_server_lost.
  interface df_read
    module procedure read_int8, read_int16, read_int32, read_int64, read_real32, read_real64, read_text
  end interface

  ! df_read_block(name, step, block, array, ierr): df_read for block `block` (0 or more). Errors as df_read.
  interface df_read_block
    module procedure read_block_int8, read_block_int16, read_block_int32, read_block_int64
    module procedure read_block_real32, read_block_real64, read_block_text
  end interface

  ! df_alloc(name, step, array, ierr): associates the pointer `array` with block 0 of `name` at `step` in shared memory. The
  ! simulation computes in place, and df_commit publishes without a copy. Ends all earlier steps.
  !   array   a pointer of the layout's type and kind, with as many dimensions (a scalar for one element); character(len=1) for a
  !           text. It gets the layout's extents in elements and lower bounds 1; contiguous, aligned to 64 bytes, with undefined
  !           values. Not associated after an error. Two or more dimensions require a layout with language="fortran".
  !   Owns    the caller, until df_commit by the same thread, or until the end of the step, which cancels the block
  !           (df_e_not_committed). Where df_write would copy nothing, it is private memory, which df_commit frees. Never deallocate
  !           it.
  !   Waits   as df_write.
  !   Errors  as df_write; df_e_type for another type or kind, df_e_shape for another rank, or for two or more dimensions of a
  !           layout in C order.
  interface df_alloc
    module procedure alloc_int8, alloc_int16, alloc_int32, alloc_int64, alloc_real32, alloc_real64, alloc_text
  end interface

  ! df_alloc_block(name, step, block, array, ierr): df_alloc for block `block` (0 or more), which df_commit_block publishes. Errors
  ! as df_alloc.
  interface df_alloc_block
    module procedure alloc_block_int8, alloc_block_int16, alloc_block_int32, alloc_block_int64
    module procedure alloc_block_real32, alloc_block_real64, alloc_block_text
  end interface

  ! df_append(log, array, where, ierr): appends the bytes of `array` to the stream that this process has in the log `log`, a
  ! <stream-log> of the XML. The order within a stream is kept. Opens and ends no step; the array may be changed at once.
  !   array   of any rank: integer of 8 to 64 bits, real of 32 or 64 bits, character; whole or a section; its bytes in the order of
  !           its elements.
  !   where   optional; gets the place of the first byte, which is known at once and stays true. File and offset count from 0.
  !   Waits   at most the XML's buffer timeout for a full lane, and again for room in the buffer. Where the log has
  !           buffered="false", as long once more, until the bytes are in the file.
  !   Errors  df_e_unknown_name, df_e_too_large, df_e_full after the wait, df_e_server_lost: nothing is appended then. With
  !           buffered="false" also df_e_timeout and df_e_io: the bytes are appended, but not in the file yet.
  interface df_append
    module procedure append_int8, append_int16, append_int32, append_int64, append_real32, append_real64, append_text
  end interface

  ! Functions of sections.c. Each returns a dc_code; `name` ends with c_null_char; `element` is a dc_type. `sentence`, 512 bytes
  ! padded with blanks, explains an error that sections.c finds itself, and is blank otherwise. `extents` are in elements.
  interface
    integer(c_int) function write_section(name, step, block, element, array) bind(c, name='damaris_fortran_write')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
      integer(c_int), value :: element
      type(*), intent(in) :: array(..)
    end function

    integer(c_int) function write_section_to(variable, step, block, element, array) bind(c, name='damaris_fortran_write_to')
      import
      type(c_ptr), value :: variable
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
      integer(c_int), value :: element
      type(*), intent(in) :: array(..)
    end function

    integer(c_int) function write_compound(name, step, block, array, sentence) bind(c, name='damaris_fortran_write_compound')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
      type(*), intent(in) :: array(..)
      character(kind=c_char), intent(out) :: sentence(512)
    end function

    integer(c_int) function read_section(name, step, block, element, array) bind(c, name='damaris_fortran_read')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
      integer(c_int), value :: element
      type(*), intent(inout) :: array(..)
    end function

    integer(c_int) function read_compound(name, step, block, array, sentence) bind(c, name='damaris_fortran_read_compound')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
      type(*), intent(inout) :: array(..)
      character(kind=c_char), intent(out) :: sentence(512)
    end function

    integer(c_int) function alloc_section(name, step, block, element, rank, extents, address, sentence) &
      bind(c, name='damaris_fortran_alloc')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
      integer(c_int), value :: element, rank
      integer(c_int64_t), intent(out) :: extents(8)
      type(c_ptr), intent(out) :: address
      character(kind=c_char), intent(out) :: sentence(512)
    end function
  end interface

contains

  ! Sets `handle` to a handle of the variable `name`, for df_write_to.
  !   handle  the library owns it; valid until df_finalize; null after an error.
  !   Errors  df_e_unknown_name.
  subroutine df_variable(name, handle, ierr)
    character(*), intent(in) :: name
    type(df_handle), intent(out) :: handle
    integer, intent(out), optional :: ierr
    call report(dc_variable(trim(name)//c_null_char, handle%variable), ierr)
  end subroutine

  ! df_write for a compound type of the XML. `array` has a derived type with the same members, preferably with bind(c). The compiler
  ! cannot check the members; the call checks their total size in bytes.
  !   Errors  as df_write; df_e_type for another size, or for a variable that is not of a compound type.
  subroutine df_write_compound(name, step, array, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    type(*), intent(in) :: array(..)
    integer, intent(out), optional :: ierr
    character(512) :: sentence
    integer(c_int) :: code
    code = write_compound(trim(name)//c_null_char, int(step, c_int64_t), 0, array, sentence)
    call report(code, ierr, sentence)
  end subroutine

  ! df_read for a compound type of the XML. The call checks only the total size of the members in bytes.
  !   Errors  as df_read; df_e_type for another size, or for a variable that is not of a compound type.
  subroutine df_read_compound(name, step, array, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    type(*), intent(inout) :: array(..)
    integer, intent(out), optional :: ierr
    character(512) :: sentence
    integer(c_int) :: code
    code = read_compound(trim(name)//c_null_char, int(step, c_int64_t), 0, array, sentence)
    call report(code, ierr, sentence)
  end subroutine

#define ROUTINE(verb) verb/**/_int8
#define ELEMENTS integer(int8)
#define SPACE integer(int8)
#define CODE dc_int8
#include "typed.inc"

#define ROUTINE(verb) verb/**/_int16
#define ELEMENTS integer(int16)
#define SPACE integer(int16)
#define CODE dc_int16
#include "typed.inc"

#define ROUTINE(verb) verb/**/_int32
#define ELEMENTS integer(int32)
#define SPACE integer(int32)
#define CODE dc_int32
#include "typed.inc"

#define ROUTINE(verb) verb/**/_int64
#define ELEMENTS integer(int64)
#define SPACE integer(int64)
#define CODE dc_int64
#include "typed.inc"

#define ROUTINE(verb) verb/**/_real32
#define ELEMENTS real(real32)
#define SPACE real(real32)
#define CODE dc_float32
#include "typed.inc"

#define ROUTINE(verb) verb/**/_real64
#define ELEMENTS real(real64)
#define SPACE real(real64)
#define CODE dc_float64
#include "typed.inc"

! A text of more than one letter is an array of letters: its length is the first extent.
#define ROUTINE(verb) verb/**/_text
#define ELEMENTS character(kind=c_char,len=*)
#define SPACE character(kind=c_char,len=1)
#define CODE dc_char
#include "typed.inc"
end module
