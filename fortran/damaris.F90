! The Fortran interface of Damaris: `use damaris` gives every df_ routine and the codes df_e_... of errors.
! Used by: simulation processes (clients), by one thread at a time. See damaris_mpi.F90 for starting under MPI.
! Before it: the simulation. After it: libdamaris, through its C interface; damaris.h says in full what each call does.
!
! Rules that hold for every routine
!   ierr      optional and last: 0, or the negative code df_e_... of an error (a notice, such as a variable that is switched off, is
!             0). After an error nothing of the call has taken effect, unless it says otherwise; df_last_error() has the sentence.
!             `Errors` names the codes that the call is likely to meet; any call may meet df_e_not_initialized, df_e_forked,
!             df_e_argument (a negative number), df_e_threads, df_e_memory and df_e_internal. Without ierr an error prints its
!             sentence to standard error and stops the program with status 1 (error stop).
!   names     are those of the XML; trailing blanks do not count.
!   numbers   steps and blocks are default integers and count from 0, so a step is at most huge(0).
!   arrays    are those of the layout: type, kind, and extents in the order of a layout with language="fortran". Scalars are arrays
!             of one element. A text of n letters is an array of n characters, an array of texts has n as its first extent.
!   extents   and offsets are in elements, one for each dimension, in the order of the array's declaration, which is that of the
!             layout: its first dimension is the fastest one with language="fortran", the slowest one (C order) without, where a
!             write reorders the elements.
!   collective  no routine is, except where `dedicated cores="0"` under MPI makes df_end_iteration so.
!   waiting   only a full buffer or lane, df_initialize, df_read, df_last_step, df_flush and df_finalize wait, each within a bound.
module damaris
  use, intrinsic :: iso_c_binding
  use damaris_c
  use damaris_arrays
  use damaris_report
  implicit none
  private

  public :: df_initialize, df_finalize
  public :: df_write, df_write_block, df_write_to, df_write_compound, df_variable, df_handle
  public :: df_read, df_read_block, df_read_compound, df_last_step
  public :: df_alloc, df_alloc_block, df_commit, df_commit_block
  public :: df_signal, df_end_iteration, df_flush, df_status, df_status_t
  public :: df_set_parameter, df_get_parameter, df_set_shape, df_set_position, df_set_time
  public :: df_last_error, df_strerror
#include "damaris_codes_public.inc"

  ! Sets the integer parameter `name` of the XML for this client, from the first write of a step on; layouts follow.
  !   value   32 or 64 bits.
  !   Errors  df_e_unknown_name; df_e_argument for one that is constant or computed, or a value that its type cannot hold.
  interface df_set_parameter
    module procedure set_parameter_int32, set_parameter_int64
  end interface

  ! Gives the parameter `name` as this client has it now.
  !   value   32 or 64 bits. After an error 0 with 32 bits, as it was with 64.
  !   Errors  df_e_unknown_name; df_e_argument when it is too large for 32 bits.
  interface df_get_parameter
    module procedure get_parameter_int32, get_parameter_int64
  end interface

  ! Gives the extents of a variable, or of a layout and so all its variables, for this client's next writes. A list of size 0 goes
  ! back to the layout's own expressions.
  !   extents  in elements, ghost zones included, 32 or 64 bits; an extent of 0: this client has no elements.
  !   Errors   df_e_unknown_name; df_e_shape for another number of dimensions, a negative extent, or less than the ghost zones:
  !            nothing has changed then.
  interface df_set_shape
    module procedure set_shape_int32, set_shape_int64
  end interface

  ! Gives the place of this client's next blocks of a variable, or of a layout, in the global array.
  !   offsets  of the interior (without ghost zones), in elements, 32 or 64 bits; from zero, also in Fortran.
  !   Errors   df_e_unknown_name; df_e_shape for another number of dimensions or a negative offset. A place outside the global array
  !            is refused by the write.
  interface df_set_position
    module procedure set_position_int32, set_position_int64
  end interface

contains

  ! Attaches this process as client `id`, unique in the run and 0 or more, to the server of its node, and starts that server where
  ! needed; with `dedicated cores="0"` does its work in this process.
  !   config  path of the XML. Waits at most its attach timeout.
  !   Errors  df_e_config, df_e_config_mismatch, df_e_region_in_use, df_e_shm, df_e_version, df_e_duplicate (the id), df_e_timeout,
  !           df_e_already_initialized, and what keeps a server from starting (df_e_stale_region, df_e_no_output, df_e_plugin). The
  !           process is not attached then and may try again.
  subroutine df_initialize(config, id, ierr)
    character(*), intent(in) :: config
    integer, intent(in) :: id
    integer, intent(out), optional :: ierr
    call report(dc_initialize(trim(config)//c_null_char, int(id, c_int)), ierr)
  end subroutine

  ! Ends all steps, waits until what was written is durable, at most the XML's finalize timeout, detaches.
  !   Errors  df_e_earlier_io (something was not stored as wanted), df_e_not_committed, df_e_timeout, df_e_server_lost; in place
  !           also the code with which a plugin ended. The process is detached nevertheless.
  subroutine df_finalize(ierr)
    integer, intent(out), optional :: ierr
    call report(dc_finalize(), ierr)
  end subroutine

  ! Publishes what df_alloc gave for (name, step).
  !   Owns    the server, from then on: the pointer is dead, but not nullified.
  !   Errors  df_e_unknown_name; df_e_not_allocated without such a df_alloc or after the step has ended; df_e_full at a full lane:
  !           nothing has happened, call it again; df_e_server_lost.
  subroutine df_commit(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call df_commit_block(name, step, 0, ierr)
  end subroutine

  ! The same for what df_alloc_block gave for (name, step, block).
  subroutine df_commit_block(name, step, block, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step, block
    integer, intent(out), optional :: ierr
    call report(dc_commit(trim(name)//c_null_char, int(step, c_int64_t), int(block, c_int32_t)), ierr)
  end subroutine

  ! The last complete step that the run of restart="..." in the XML stored of `name`, or of anything when `name` is blank. Waits as
  ! df_read.
  !   step    stays as it was after an error.
  !   Errors  df_e_not_stored when there is none; df_e_config when the XML names no run; df_e_argument when it is more than
  !           huge(step); df_e_unknown_name, df_e_io, df_e_full, df_e_timeout, df_e_server_lost.
  subroutine df_last_step(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(inout) :: step
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: wide
    integer(c_int) :: code

    wide = step
    if (name == ' ') then
      code = dc_last_step(step=wide)
    else
      code = dc_last_step(trim(name)//c_null_char, wide)
    end if
    if (code >= 0 .and. wide > huge(step)) then
      call report(df_e_argument, ierr, 'the last step is too large for a default integer')
      return
    end if
    step = int(wide)
    call report(code, ierr)
  end subroutine

  ! Sends the event `name` to the server, whose actions of that name then run by their scope. Ends all steps before `step`.
  !   Errors  df_e_unknown_name, df_e_backward, df_e_full at a full lane, df_e_server_lost. What the actions come to,
  !           df_end_iteration tells.
  subroutine df_signal(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call report(dc_signal(trim(name)//c_null_char, int(step, c_int64_t)), ierr)
  end subroutine

  ! Ends `step` and all earlier ones for this client, also when nothing was written. With a dedicated core it waits for no storage.
  !   Errors  of earlier steps (df_e_earlier_io) and df_e_not_committed: the step has ended nevertheless. df_e_backward; df_e_full
  !           at a full lane: call it again; df_e_server_lost; in place df_e_timeout: ended here, but not in all processes.
  subroutine df_end_iteration(step, ierr)
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call report(dc_end_iteration(int(step, c_int64_t)), ierr)
  end subroutine

  ! Waits at most timeout_ms milliseconds until `step` and all earlier ones of this node are in files that survive a crash.
  !   Errors  df_e_timeout, whose sentence names who has not ended the step; df_e_not_ended when this client has not;
  !           df_e_earlier_io when something was not stored as wanted, told once; df_e_not_committed, df_e_full at a full lane,
  !           df_e_server_lost.
  subroutine df_flush(step, timeout_ms, ierr)
    integer, intent(in) :: step, timeout_ms
    integer, intent(out), optional :: ierr
    call report(dc_flush(int(step, c_int64_t), int(timeout_ms, c_int)), ierr)
  end subroutine

  ! Tells the state of this client and its node group, sizes in bytes; never waits.
  !   Errors  df_e_not_initialized: `status` is undefined then. A failed step is no error here: see status%first_error.
  subroutine df_status(status, ierr)
    type(df_status_t), intent(out) :: status
    integer, intent(out), optional :: ierr
    call report(dc_status(status), ierr)
  end subroutine

  ! Gives the physical time of `step`, finite, in the simulation's own unit; the last value on the node wins. Ends all steps before.
  !   Errors  df_e_argument for a time that is not finite; df_e_backward, df_e_full at a full lane, df_e_server_lost.
  subroutine df_set_time(step, time, ierr)
    integer, intent(in) :: step
    real(c_double), intent(in) :: time
    integer, intent(out), optional :: ierr
    call report(dc_set_time(int(step, c_int64_t), time), ierr)
  end subroutine

  ! See df_set_parameter.
  subroutine set_parameter_int32(name, value, ierr)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: value
    integer, intent(out), optional :: ierr
    call set_parameter_int64(name, int(value, c_int64_t), ierr)
  end subroutine

  subroutine set_parameter_int64(name, value, ierr)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: value
    integer, intent(out), optional :: ierr
    call report(dc_set_parameter(trim(name)//c_null_char, value), ierr)
  end subroutine

  ! See df_get_parameter.
  subroutine get_parameter_int32(name, value, ierr)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(out) :: value
    integer, intent(out), optional :: ierr
    integer(c_int64_t) :: wide
    integer(c_int) :: code

    value = 0
    wide = 0
    code = dc_get_parameter(trim(name)//c_null_char, wide)
    if (code >= 0 .and. abs(wide) > huge(value)) then
      call report(df_e_argument, ierr, "parameter '"//trim(name)//"' is too large for integer(int32); give an integer(int64)")
      return
    end if
    value = int(wide, c_int32_t)
    call report(code, ierr)
  end subroutine

  subroutine get_parameter_int64(name, value, ierr)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(out) :: value
    integer, intent(out), optional :: ierr
    call report(dc_get_parameter(trim(name)//c_null_char, value), ierr)
  end subroutine

  ! See df_set_shape.
  subroutine set_shape_int32(name, extents, ierr)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: extents(:)
    integer, intent(out), optional :: ierr
    call set_shape_int64(name, int(extents, c_int64_t), ierr)
  end subroutine

  subroutine set_shape_int64(name, extents, ierr)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: extents(:)
    integer, intent(out), optional :: ierr
    call report(dc_set_shape(trim(name)//c_null_char, size(extents, kind=c_int), extents), ierr)
  end subroutine

  ! See df_set_position.
  subroutine set_position_int32(name, offsets, ierr)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: offsets(:)
    integer, intent(out), optional :: ierr
    call set_position_int64(name, int(offsets, c_int64_t), ierr)
  end subroutine

  subroutine set_position_int64(name, offsets, ierr)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: offsets(:)
    integer, intent(out), optional :: ierr
    call report(dc_set_position(trim(name)//c_null_char, size(offsets, kind=c_int), offsets), ierr)
  end subroutine
end module
