! What the user chose: the namelist file, with CM1's names where CM1 has the setting.
! Used by: every process, before the tiles are laid out. Each reads the file itself.
! Before it: the namelist file. After it: placement, grid, initial state, main.
module cm1_settings
  use cm1_constants, only: stop_model
  implicit none
  public
  private :: check, check_period, check_restart, known

  ! param0: the domain and how it is cut. ppnode: clients of each node, in order, the last
  ! value repeats; 0 asks MPI which ranks share memory.
  integer, parameter :: max_nodes = 1024
  integer :: nx = 64, ny = 64, nz = 40
  integer :: nodex = 0, nodey = 0
  integer :: ppnode(max_nodes) = -1

  ! param1: metres and seconds. rstfrq <= 0 writes no restart.
  real :: dx = 1000.0, dy = 1000.0, dz = 500.0
  real :: dtl = 6.0, timax = 1800.0, tapfrq = 300.0, rstfrq = -1.0, statfrq = 60.0

  ! param2: switches. iwnd 0 calm, 2 quarter circle; iinit 0 nothing, 1 warm bubble;
  ! ptype 0 no cloud physics, 1 Kessler; nsound 0 chooses the acoustic steps itself.
  integer :: irst = 0, rstnum = 1, imoist = 1, ptype = 1, iwnd = 2, iinit = 1, irdamp = 1, nsound = 0

  ! param3: damping, and the motion of the domain, m/s.
  real :: kdiv = 0.10, rdalpha = 3.333e-3, zd = 15000.0, umove = 12.5, vmove = 3.0

  ! param9: output. output_filetype is CM1's: 2 one file an output, 3 one file a process.
  integer :: output_filetype = 3
  character(len=512) :: output_path = '.'
  character(len=64) :: output_basename = 'cm1out'

  ! miniapp: what CM1 does not have. An empty back end follows output_filetype.
  character(len=16) :: backend = ' '
  character(len=512) :: config = 'cm1.xml'
  integer :: work = 1

contains

  subroutine read_settings(path)
    character(*), intent(in) :: path
    integer :: unit, status
    character(len=256) :: reason
    namelist /param0/ nx, ny, nz, nodex, nodey, ppnode
    namelist /param1/ dx, dy, dz, dtl, timax, tapfrq, rstfrq, statfrq
    namelist /param2/ irst, rstnum, imoist, ptype, iwnd, iinit, irdamp, nsound
    namelist /param3/ kdiv, rdalpha, zd, umove, vmove
    namelist /param9/ output_filetype, output_path, output_basename
    namelist /miniapp/ backend, config, work

    unit = 20
    open (unit, file=path, status='old', action='read', iostat=status)
    if (status /= 0) call stop_model('no namelist file "'//trim(path)// &
      '"; give its path as the first argument (see namelist.input)')
    reason = ' '
    read (unit, nml=param0, iostat=status, iomsg=reason); call known('param0', status, reason); rewind (unit)
    read (unit, nml=param1, iostat=status, iomsg=reason); call known('param1', status, reason); rewind (unit)
    read (unit, nml=param2, iostat=status, iomsg=reason); call known('param2', status, reason); rewind (unit)
    read (unit, nml=param3, iostat=status, iomsg=reason); call known('param3', status, reason); rewind (unit)
    read (unit, nml=param9, iostat=status, iomsg=reason); call known('param9', status, reason); rewind (unit)
    read (unit, nml=miniapp, iostat=status, iomsg=reason); call known('miniapp', status, reason)
    close (unit)
    call check()
  end subroutine read_settings

  ! A group may be absent (end of file, negative); a name it does not have is an error.
  subroutine known(group, status, reason)
    character(*), intent(in) :: group, reason
    integer, intent(in) :: status
    if (status > 0) call stop_model('namelist group &'//group//': '//trim(reason))
  end subroutine known

  subroutine check()
    if (nx < 3 .or. ny < 3 .or. nz < 4) call stop_model('nx and ny must be at least 3, nz at least 4')
    if (dtl <= 0.0 .or. timax < 0.0) call stop_model('dtl must be positive and timax not negative')
    if (work < 1) call stop_model('work must be 1 or more: 1 is the plain model')
    call check_period('tapfrq', tapfrq)
    call check_period('statfrq', statfrq)
    if (rstfrq > 0.0) call check_period('rstfrq', rstfrq)
    if (backend == 'damaris' .and. rstfrq > 0.0) call check_restart()
    if (backend == ' ' .and. output_filetype == 2) backend = 'collective'
    if (backend == ' ' .and. output_filetype == 3) backend = 'fpp'
    select case (backend)
    case ('none', 'fpp', 'collective', 'damaris', 'library')
    case default
      call stop_model("backend '"//trim(backend)//"' is unknown: none, fpp, collective, damaris or library")
    end select
  end subroutine check

  ! A restart is an output and what it lacks.
  subroutine check_restart()
    if (mod(nint(rstfrq/dtl), nint(tapfrq/dtl)) /= 0) &
      call stop_model('with damaris rstfrq must be a multiple of tapfrq: a restart is part of an output')
  end subroutine check_restart

  subroutine check_period(name, seconds)
    character(*), intent(in) :: name
    real, intent(in) :: seconds
    if (nint(seconds/dtl) < 1) call stop_model(name//' must be at least one time step (dtl)')
  end subroutine check_period

  ! Whether something that is due every `seconds` is due after `step` steps.
  logical function due(step, seconds)
    integer, intent(in) :: step
    real, intent(in) :: seconds
    due = seconds > 0.0
    if (due) due = mod(step, nint(seconds/dtl)) == 0
  end function due

end module cm1_settings
