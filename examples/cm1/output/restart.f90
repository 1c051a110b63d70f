! Restart files: the whole state of a tile, one unformatted file per rank, every rstfrq. With damaris an
! output is the restart, together with what output_list adds.
! Used by: every rank. Before it: the state after a step. After it: a later run with irst = 1, on
! the same tiles (damaris: on any), that goes on to the last bit as if it had never stopped.
module cm1_restart
  use mpi
  use cm1_constants, only: stop_model
  use cm1_settings, only: backend, output_path, nx, ny, nz, dtl
  use cm1_damaris, only: damaris_get_restart
  use cm1_grid
  use cm1_state
  implicit none
  private
  public :: write_restart, read_restart

  integer, parameter :: unit = 33, version = 1
  integer, save :: restarts = 0

contains

  subroutine write_restart(step, outputs)
    integer, intent(in) :: step, outputs
    integer :: status
    if (backend == 'damaris') return
    restarts = restarts + 1
    open (unit, file=trim(path_of(restarts)), form='unformatted', action='write', status='replace', iostat=status)
    if (status /= 0) call stop_model('cannot create the restart file '//path_of(restarts))
    write (unit, iostat=status) version, nx, ny, nz, i0, j0, ni, nj, step, outputs, restarts, dtl
    call save_field(u); call save_field(v); call save_field(w); call save_field(th); call save_field(pi)
    call save_field(qv); call save_field(qc); call save_field(qr); call save_field(tr)
    write (unit, iostat=status) rain(1:ni, 1:nj)
    if (status == 0) close (unit, iostat=status)
    if (status /= 0) call stop_model('cannot write '//trim(path_of(restarts))//': is the disk full?')
  end subroutine write_restart

  subroutine save_field(a)
    real, intent(in) :: a(ib:ie, jb:je, kb:ke)
    integer :: status
    write (unit, iostat=status) a(1:ni, 1:nj, 1:nk + 1)
    if (status /= 0) call stop_model('cannot write '//trim(path_of(restarts))//': is the disk full?')
  end subroutine save_field

  ! Leaves the halos for the caller to refresh.
  subroutine read_restart(number, step, outputs)
    integer, intent(in) :: number
    integer, intent(out) :: step, outputs
    integer :: h(11), status
    real :: step_length
    if (backend == 'damaris') then
      call damaris_get_restart(number, step, outputs)
      return
    end if
    restarts = number
    open (unit, file=trim(path_of(number)), form='unformatted', action='read', status='old', iostat=status)
    if (status /= 0) call stop_model('no restart file '//trim(path_of(number))//'; see irst and rstnum')
    read (unit, iostat=status) h, step_length
    if (status /= 0 .or. h(1) /= version) call stop_model(trim(path_of(number))//' is no restart file of this program')
    if (any(h(2:8) /= (/nx, ny, nz, i0, j0, ni, nj/)) .or. abs(step_length - dtl) > 0.0) &
      call stop_model(trim(path_of(number))//' is of another grid, time step or tiling; restart with the same')
    call load_field(u); call load_field(v); call load_field(w); call load_field(th); call load_field(pi)
    call load_field(qv); call load_field(qc); call load_field(qr); call load_field(tr)
    read (unit, iostat=status) rain(1:ni, 1:nj)
    if (status /= 0) call stop_model(trim(path_of(number))//' is cut short')
    close (unit)
    step = h(9)
    outputs = h(10)
  end subroutine read_restart

  subroutine load_field(a)
    real, intent(inout) :: a(ib:ie, jb:je, kb:ke)
    integer :: status
    read (unit, iostat=status) a(1:ni, 1:nj, 1:nk + 1)
    if (status /= 0) call stop_model(trim(path_of(restarts))//' is cut short')
  end subroutine load_field

  function path_of(number) result(path)
    integer, intent(in) :: number
    character(len=640) :: path
    write (path, '(2a,i6.6,a,i4.4,a)') trim(output_path), '/cm1rst_', number, '_', me, '.dat'
  end function path_of

end module cm1_restart
