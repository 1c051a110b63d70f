! The Fortran interface of Damaris: `use damaris` gives every df_ routine and the codes df_e_... of errors.
! Used by: simulation processes (clients), by one thread at a time. See damaris_mpi.F90 for starting under MPI.
! Before it: the simulation. After it: libdamaris, through its C interface; damaris.h says in full what each call does.
!
! Rules that hold for every routine
!   ierr      optional and last: 0, or the negative code of an error (a notice, such as a variable that is switched off, is 0).
!             Without ierr an error prints its sentence to standard error and stops the program with status 1.
!   names     are those of the XML; trailing blanks do not count.
!   arrays    are those of the layout: type, kind, and extents in the order of a layout with language="fortran". Scalars are arrays
!             of one element. A text of n letters is an array of n characters, an array of texts has n as its first extent.
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

  interface df_set_parameter
    module procedure set_parameter_int32, set_parameter_int64
  end interface

  interface df_get_parameter
    module procedure get_parameter_int32, get_parameter_int64
  end interface

  interface df_set_shape
    module procedure set_shape_int32, set_shape_int64
  end interface

  interface df_set_position
    module procedure set_position_int32, set_position_int64
  end interface

contains

  ! Attaches this process as client `id`, unique in the run, to the server of its node, and starts that server where needed.
  subroutine df_initialize(config, id, ierr)
    character(*), intent(in) :: config
    integer, intent(in) :: id
    integer, intent(out), optional :: ierr
    call report(dc_initialize(trim(config)//c_null_char, int(id, c_int)), ierr)
  end subroutine

  ! Ends all steps, waits (bounded) until what was written is durable, detaches.
  subroutine df_finalize(ierr)
    integer, intent(out), optional :: ierr
    call report(dc_finalize(), ierr)
  end subroutine

  ! Publishes what df_alloc gave for (name, step); the pointer is dead afterwards.
  subroutine df_commit(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call df_commit_block(name, step, 0, ierr)
  end subroutine

  subroutine df_commit_block(name, step, block, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step, block
    integer, intent(out), optional :: ierr
    call report(dc_commit(trim(name)//c_null_char, int(step, c_int64_t), int(block, c_int32_t)), ierr)
  end subroutine

  ! The last complete step that the run of restart="..." in the XML stored of `name`, or of anything when `name` is blank. `step` stays
  ! as it was when there is none (df_e_not_stored).
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

  ! Sends the event `name` to the server, whose actions of that name then run by their scope.
  subroutine df_signal(name, step, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call report(dc_signal(trim(name)//c_null_char, int(step, c_int64_t)), ierr)
  end subroutine

  ! Ends `step` and all earlier ones for this client; ierr tells of storage errors of earlier steps.
  subroutine df_end_iteration(step, ierr)
    integer, intent(in) :: step
    integer, intent(out), optional :: ierr
    call report(dc_end_iteration(int(step, c_int64_t)), ierr)
  end subroutine

  ! Waits at most timeout_ms milliseconds until `step` and all earlier ones are in files that survive a crash.
  subroutine df_flush(step, timeout_ms, ierr)
    integer, intent(in) :: step, timeout_ms
    integer, intent(out), optional :: ierr
    call report(dc_flush(int(step, c_int64_t), int(timeout_ms, c_int)), ierr)
  end subroutine

  ! Tells the state of this client and its node group; never waits.
  subroutine df_status(status, ierr)
    type(df_status_t), intent(out) :: status
    integer, intent(out), optional :: ierr
    call report(dc_status(status), ierr)
  end subroutine

  ! Gives the physical time of `step` in the simulation's own unit.
  subroutine df_set_time(step, time, ierr)
    integer, intent(in) :: step
    real(c_double), intent(in) :: time
    integer, intent(out), optional :: ierr
    call report(dc_set_time(int(step, c_int64_t), time), ierr)
  end subroutine

  ! Sets a parameter of the XML for this client, from its next write on.
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

  ! Reads a parameter as this client has it now.
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

  ! Gives the extents of a variable, or of a layout and so all its variables, for this client's next writes.
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

  ! Gives the place of this client's next blocks in the global array: offsets from zero, also in Fortran.
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
