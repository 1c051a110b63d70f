! Logs: positions, df_append_compound and df_log_commit. df_append, for each type, is in damaris_arrays.F90.
! Used by: simulation processes, by one thread at a time.
! Before it: the simulation's arrays, whole or by section. After it: sections.c, which passes the bytes to libdamaris.
module damaris_logs
  use, intrinsic :: iso_c_binding
  use damaris_report, only: report
  implicit none
  private
  public :: df_append_compound, df_log_commit, df_position_t, append_section

  ! Where an append lies in its log, as dc_position_t in damaris.h.
  type, bind(c) :: df_position_t
    integer(c_int64_t) :: file      ! of the log, counted over the servers of the run
    integer(c_int64_t) :: offset    ! of its first byte in that file, in bytes
  end type

  ! Of sections.c: returns a dc_code; `log` ends with c_null_char.
  interface
    integer(c_int) function append_section(log, array, where) bind(c, name='damaris_fortran_append')
      import
      character(kind=c_char), intent(in) :: log(*)
      type(*), intent(in) :: array(..)
      type(df_position_t), intent(out) :: where
    end function

    integer(c_int) function dc_log_commit(log, timeout_ms) bind(c)
      import
      character(kind=c_char), intent(in) :: log(*)
      integer(c_int), value :: timeout_ms
    end function
  end interface

contains

  ! df_append for an array of a derived type, preferably with bind(c): its bytes with their padding.
  !   Errors  as df_append.
  subroutine df_append_compound(log, array, where, ierr)
    character(*), intent(in) :: log
    type(*), intent(in) :: array(..)
    type(df_position_t), intent(out), optional :: where
    integer, intent(out), optional :: ierr
    type(df_position_t) :: place
    integer(c_int) :: code

    code = append_section(trim(log)//c_null_char, array, place)
    if (present(where)) where = place
    call report(code, ierr)
  end subroutine

  ! Waits until everything that this process has appended to the log `log` is durable: written and fsynced.
  !   timeout_ms  the bound of the wait in milliseconds, 0 or more.
  !   Errors      df_e_unknown_name; df_e_timeout; df_e_io when the file system refuses it: the server tries again; df_e_full,
  !               df_e_server_lost.
  subroutine df_log_commit(log, timeout_ms, ierr)
    character(*), intent(in) :: log
    integer, intent(in) :: timeout_ms
    integer, intent(out), optional :: ierr
    call report(dc_log_commit(trim(log)//c_null_char, int(timeout_ms, c_int)), ierr)
  end subroutine
end module
