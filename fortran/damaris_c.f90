! The C interface in Fortran: interface bodies only, one for each function of damaris.h that has no array argument.
! Used by: the other modules of this folder, in simulation processes; a program uses module damaris.
! Before it: module damaris. After it: libdamaris. Each function returns the codes, in the units and with the owners, of its
! namesake in damaris.h; texts end with c_null_char.
module damaris_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  ! The element types, as dc_type in damaris.h.
  integer(c_int), parameter :: dc_int8 = 1, dc_int16 = 2, dc_int32 = 3, dc_int64 = 4
  integer(c_int), parameter :: dc_float32 = 9, dc_float64 = 10, dc_char = 11, dc_compound = 12

  ! The state that df_status returns: the fields of dc_status_t, which damaris.h explains.
  type, bind(c) :: df_status_t
    integer(c_int64_t) :: last_complete, last_durable                            ! steps; -1: none yet
    integer(c_int64_t) :: buffer_bytes, buffer_used_bytes, largest_hole_bytes    ! bytes, of this client's share
    integer(c_int64_t) :: events_waiting, writes, waits, skipped, dropped        ! numbers, of this client
    integer(c_int64_t) :: reduced_steps, spilled_bytes                           ! steps and bytes, of the node group
    integer(c_int) :: first_error                                                ! a code df_e_..., or 0
  end type

  interface
    integer(c_int) function dc_initialize(config, id) bind(c)
      import
      character(kind=c_char), intent(in) :: config(*)
      integer(c_int), value :: id
    end function

    integer(c_int) function dc_finalize() bind(c)
      import
    end function

    integer(c_int) function dc_commit(variable, step, block) bind(c)
      import
      character(kind=c_char), intent(in) :: variable(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: block
    end function

    integer(c_int) function dc_variable(variable, handle) bind(c)
      import
      character(kind=c_char), intent(in) :: variable(*)
      type(c_ptr), intent(out) :: handle
    end function

    integer(c_int) function dc_last_step(variable, step) bind(c)
      import
      character(kind=c_char), intent(in), optional :: variable(*)
      integer(c_int64_t), intent(inout) :: step
    end function

    integer(c_int) function dc_signal(name, step) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: step
    end function

    integer(c_int) function dc_end_iteration(step) bind(c)
      import
      integer(c_int64_t), value :: step
    end function

    integer(c_int) function dc_flush(step, timeout_ms) bind(c)
      import
      integer(c_int64_t), value :: step
      integer(c_int), value :: timeout_ms
    end function

    integer(c_int) function dc_status(status) bind(c)
      import
      type(df_status_t), intent(out) :: status
    end function

    integer(c_int) function dc_set_parameter(name, value) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: value
    end function

    integer(c_int) function dc_get_parameter(name, value) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(out) :: value
    end function

    integer(c_int) function dc_set_shape(name, ndims, extents) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ndims
      integer(c_int64_t), intent(in) :: extents(*)
    end function

    integer(c_int) function dc_set_position(name, ndims, offsets) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ndims
      integer(c_int64_t), intent(in) :: offsets(*)
    end function

    integer(c_int) function dc_set_time(step, time) bind(c)
      import
      integer(c_int64_t), value :: step
      real(c_double), value :: time
    end function

    type(c_ptr) function dc_strerror(code) bind(c)
      import
      integer(c_int), value :: code
    end function

    type(c_ptr) function dc_last_error() bind(c)
      import
    end function
  end interface
end module
