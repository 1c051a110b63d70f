! The Fortran interface of Damaris: `use damaris` gives every df_ routine and the codes df_e_... of errors.
! Used by: simulation processes (clients), by one thread at a time. damaris_mpi.F90 starts a session under MPI.
! Before it: the simulation. After it: libdamaris, through its C interface; damaris.h describes each call in full.
!
! Rules that hold for every routine
!   ierr      optional and last: 0, or the negative code df_e_... of an error. It is 0 also for a notice, such as a variable that is
!             switched off. Without ierr an error prints its sentence to standard error and stops the program with status 1.
!   errors    `Errors` lists the codes that the work of the routine causes. Any routine may give df_e_not_initialized, df_e_forked,
!             df_e_argument (a negative number), df_e_threads, df_e_memory and df_e_internal. df_last_error() returns the sentence.
!   state     A routine that gives an error has had no effect, unless its comment says otherwise. As in C, the first call of a step
!             may have opened it, and so ended the earlier steps.
!   names     are those of the XML, borrowed for the call; trailing blanks do not count.
!   numbers   steps and blocks are default integers and count from 0, so a step is at most huge(0).
!   arrays    are those of the layout: type, kind, and extents in the order of a layout with language="fortran". A scalar is an
!             array of one element. A text of n letters is an array of n characters; an array of texts has n as its first extent.
!   extents   and offsets are in elements, one for each dimension, in the order of the array's declaration, which is that of the
!             layout. With language="fortran" its first dimension is the fastest; without, it is the slowest (C order), and a
!             write reorders the elements.
!   collective  no routine is, except that `dedicated cores="0"` under MPI can make df_end_iteration collective.
!   waiting   only calls that find the buffer or their lane full, and df_initialize, df_read, df_last_step, df_log_commit, df_flush and
!             df_finalize wait, each within a bound: `timeout_ms` of df_flush and df_log_commit, else a timeout of the XML, in seconds unless it names a unit.
module damaris
  use, intrinsic :: iso_c_binding
  use damaris_c
  use damaris_arrays
  use damaris_logs
  use damaris_report
  implicit none
  private

  public :: df_initialize, df_finalize
  public :: df_write, df_write_block, df_write_to, df_write_compound, df_variable, df_handle
  public :: df_read, df_read_block, df_read_compound, df_last_step
  public :: df_alloc, df_alloc_block, df_commit, df_commit_block
  public :: df_append, df_append_compound, df_log_commit, df_position_t
  public :: df_signal, df_end_iteration, df_flush, df_status, df_status_t
  public :: df_set_parameter, df_get_parameter, df_set_shape, df_set_position, df_set_time
  public :: df_last_error, df_strerror
#include "damaris_codes_public.inc"

  ! df_set_parameter(name, value, ierr): sets the integer parameter `name` of the XML for this client only. The layouts follow with
  ! the first write of a step.
  !   value   32 or 64 bits.
  !   Errors  df_e_unknown_name; df_e_argument for a constant or computed parameter, or a value outside the range of its type, or of
  !           the type of a parameter that is computed from it. No parameter has changed then.
  interface df_set_parameter
    module procedure set_parameter_int32, set_parameter_int64
  end interface

  ! df_get_parameter(name, value, ierr): sets `value` to the parameter `name` of this client, as set last.
  !   value   32 or 64 bits. After an error it is 0 with 32 bits, and keeps its value with 64 bits.
  !   Errors  df_e_unknown_name; df_e_argument for a parameter that is too large for 32 bits.
  interface df_get_parameter
    module procedure get_parameter_int32, get_parameter_int64
  end interface

  ! df_set_shape(name, extents, ierr): sets the extents of this client's next blocks of `name`, a variable, or a layout and so all
  ! its variables. A list of size 0 returns to the layout's expressions.
  !   extents  in elements, ghost zones included, 32 or 64 bits, in the layout's dimension order. With an extent of 0 this client
  !            has no elements and no ghost zones.
  !   Errors   df_e_unknown_name; df_e_shape for another number of dimensions, a negative extent, a size of 2**63 bytes or more, or
  !            an extent smaller than its ghost zones. No shape has changed then.
  interface df_set_shape
    module procedure set_shape_int32, set_shape_int64
  end interface

  ! df_set_position(name, offsets, ierr): sets the position of this client's next blocks of `name`, a variable or a layout, in the
  ! global array.
  !   offsets  of the interior (without ghost zones), in elements, zero-based also in Fortran, 32 or 64 bits, in the layout's
  !            dimension order.
  !   Errors   df_e_unknown_name; df_e_shape for another number of dimensions or a negative offset. No position has changed then. A
  !            position outside the global array is refused by the write (df_e_shape).
  interface df_set_position
    module procedure set_position_int32, set_position_int64
  end interface

contains

  ! Attaches this process as client `id`, unique in the run and 0 or more, to the server of its node. The first client starts that
  ! server if none runs and the XML allows it; with `dedicated cores="0"` this process does the server's work.
  !   config  path of the XML file.
  !   Waits   at most the XML's attach timeout.
  !   Errors  df_e_config, df_e_config_mismatch, df_e_region_in_use, df_e_shm, df_e_version, df_e_duplicate (an id in use),
  !           df_e_timeout, df_e_server_lost, df_e_already_initialized; the start of a server adds df_e_stale_region,
  !           df_e_no_output, df_e_plugin and the codes of plugins. The process is not attached then and may call again.
  subroutine df_initialize(config, id, ierr)
    character(*), intent(in) :: config
    integer, intent(in) :: id
    integer, intent(out), optional :: ierr
    call report(dc_initialize(trim(config)//c_null_char, int(id, c_int)), ierr)
  end subroutine

  ! Ends all steps, waits until the published data are durable, and detaches.
  !   Waits   at most the XML's finalize timeout.
  !   Errors  df_e_earlier_io with all storage errors that no call has given yet, df_e_not_committed, df_e_timeout,
  !           df_e_server_lost; with `dedicated cores="0"` also the error of a plugin's finalize. The process is detached in every
  !           case.
  subroutine df_finalize(ierr)
    integer, intent(out), optional :: ierr
    call report(dc_finalize(), ierr)
  end subroutine

  ! Publishes the block that df_alloc reserved for (name, step).
  !   Owns    the server owns the memory afterwards: the pointer stays associated, but must not be used.
  !   Waits   at most the XML's buffer timeout, for a full lane.
  !   Errors  df_e_unknown_name; df_e_not_allocated without such a df_alloc and after the end of the step; df_e_full for a full
  !           lane, and df_e_server_lost, detected only during the wait: the block is still the caller's, and the call can be
  !           repeated.
  subroutine df_commit(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call df_commit_block(name, step, 0, ierr)
  end subroutine

  ! df_commit for the block that df_alloc_block reserved for (name, step, block). Errors as df_commit.
  subroutine df_commit_block(name, step, block, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step, block
    integer, intent(out), optional :: ierr
    call report(dc_commit(trim(name)//c_null_char, int(step, c_int64_t), int(block, c_int32_t)), ierr)
  end subroutine

  ! Sets `step` to the last complete step in which the run of restart="..." in the XML stored `name`, or, for a blank name, any
  ! variable.
  !   step    keeps its value after an error.
  !   Waits   as df_read.
  !   Errors  df_e_not_stored when there is no such step; df_e_config when the XML names no run; df_e_argument for a step above
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

  ! Sends the event `name` of `step` to the server, which runs its actions by their scope. Ends all earlier steps.
  !   Waits   at most the XML's buffer timeout, for a full lane.
  !   Errors  df_e_unknown_name, df_e_backward, df_e_full, df_e_server_lost. A failure of an action is given by a later
  !           df_end_iteration, df_flush or df_finalize.
  subroutine df_signal(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call report(dc_signal(trim(name)//c_null_char, int(step, c_int64_t)), ierr)
  end subroutine

  ! Ends `step` and all earlier ones for this client, also when it wrote nothing. With a dedicated core it never waits for storage.
  !   Waits   at most the XML's buffer timeout, for a full lane.
  !   Errors  with the step ended: df_e_not_committed; df_e_earlier_io, the first error of an earlier step that no call has given
  !           yet; with `dedicated cores="0"` df_e_timeout when other processes have not ended it. Without effect: df_e_backward,
  !           df_e_server_lost; df_e_full, after which the call can be repeated.
  subroutine df_end_iteration(step, ierr)
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call report(dc_end_iteration(int(step, c_int64_t)), ierr)
  end subroutine

  ! Waits until `step` and all earlier ones are durable on this node group: in files that are fsynced under their final names.
  !   timeout_ms  the bound of the wait in milliseconds, 0 or more.
  !   Errors      df_e_timeout, whose sentence names the clients that have not ended the step; df_e_not_ended when this client has
  !               not; df_e_earlier_io with the first error of these steps, df_e_not_committed, df_e_full, df_e_server_lost. Each
  !               error is given once.
  subroutine df_flush(step, timeout_ms, ierr)
    integer, intent(in) :: step, timeout_ms
    integer, intent(out), optional :: ierr
    call report(dc_flush(int(step, c_int64_t), int(timeout_ms, c_int)), ierr)
  end subroutine

  ! Sets `status` to the state of this client and its node group, sizes in bytes. Never waits.
  !   Errors  df_e_not_initialized, after which `status` is undefined. A failed step gives no error here: see status%first_error.
  subroutine df_status(status, ierr)
    type(df_status_t), intent(out) :: status
    integer, intent(out), optional :: ierr
    call report(dc_status(status), ierr)
  end subroutine

  ! Sets the physical time of `step`, finite, in the simulation's own unit; the last value that a client of the node sends is
  ! stored. Ends all earlier steps.
  !   Waits   at most the XML's buffer timeout, for a full lane.
  !   Errors  df_e_argument for a time that is not finite; df_e_backward, df_e_full, df_e_server_lost.
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
    if (code >= 0 .and. (wide > huge(value) .or. wide < -1_c_int64_t - huge(value))) then
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
