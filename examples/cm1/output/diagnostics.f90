! Output variables that are not kept but computed when they are written, one at a time.
! Used by: every rank, at every output. Before it: state with right halos. After it: catalogue.
module cm1_diagnostics
  use cm1_constants
  use cm1_settings, only: dx, dy, dz
  use cm1_grid
  use cm1_state
  use cm1_sounding, only: saturation, pressure_at
  implicit none
  private
  public :: diagnose

contains

  ! Fills the interior of a, on one level more than scalars have, for those at w points.
  subroutine diagnose(name, a)
    character(*), intent(in) :: name
    real, intent(inout) :: a(ib:ie, jb:je, kb:ke)
    integer :: j, k
    do k = 1, nk + 1
      do j = 1, nj
        call diagnose_row(name, j, k, a(1:ni, j, k))
      end do
    end do
  end subroutine diagnose

  subroutine diagnose_row(name, j, k, row)
    character(*), intent(in) :: name
    integer, intent(in) :: j, k
    real, intent(out) :: row(ni)
    select case (name)
    case ('th'); row = th0(k) + th(1:ni, j, k)
    case ('prs'); row = pressure(j, k)
    case ('prspert'); row = pressure(j, k) - pressure_at(pi0(k))
    case ('temp'); row = temperature(j, k)
    case ('rho'); row = density(j, k)
    case ('rh'); row = qv(1:ni, j, k)/saturation(temperature(j, k), pressure(j, k))
    case ('dbz'); row = reflectivity(density(j, k)*qr(1:ni, j, k))
    case ('buoyancy'); row = buoyancy(j, k)
    case ('uinterp'); row = 0.5*(u(1:ni, j, k) + u(2:ni + 1, j, k))
    case ('vinterp'); row = 0.5*(v(1:ni, j, k) + v(1:ni, j + 1, k))
    case ('winterp'); row = 0.5*(w(1:ni, j, k) + w(1:ni, j, min(k, nk) + 1))
    case ('zvort'); row = vorticity(j, k)
    case ('nm'); row = stability(j, k)
    case ('tke'); row = subgrid_energy(j, k)
    case default; call stop_model('no diagnostic is called "'//trim(name)//'"')
    end select
  end subroutine diagnose_row

  function temperature(j, k) result(row)
    integer, intent(in) :: j, k
    real :: row(ni)
    row = (th0(k) + th(1:ni, j, k))*(pi0(k) + pi(1:ni, j, k))
  end function temperature

  function pressure(j, k) result(row)
    integer, intent(in) :: j, k
    real :: row(ni)
    row = pressure_at(pi0(k) + pi(1:ni, j, k))
  end function pressure

  function density(j, k) result(row)
    integer, intent(in) :: j, k
    real :: row(ni)
    row = pressure(j, k)/(rd*(temperature(j, k)*(1.0 + vapour_lift*qv(1:ni, j, k))))
  end function density

  ! Of rain with Marshall and Palmer's drops, content in kg/m3.
  elemental real function reflectivity(content)
    real, intent(in) :: content
    reflectivity = 0.0
    if (content > 1.0e-7) reflectivity = 10.0*log10(max(20740.0*(1000.0*content)**1.75, 1.0))
  end function reflectivity

  function buoyancy(j, k) result(row)
    integer, intent(in) :: j, k
    real :: row(ni)
    row = grav*(th(1:ni, j, k)/th0(k) + vapour_lift*(qv(1:ni, j, k) - qv0(k)) &
                - (qc(1:ni, j, k) + qr(1:ni, j, k)))
  end function buoyancy

  function vorticity(j, k) result(row)
    integer, intent(in) :: j, k
    real :: row(ni)
    row = 0.5*((rdx*(v(2:ni + 1, j, k) - v(0:ni - 1, j, k))) - (rdy*(u(1:ni, j + 1, k) - u(1:ni, j - 1, k))))
  end function vorticity

  function stability(j, k) result(row)
    integer, intent(in) :: j, k
    real :: row(ni), above(ni), below(ni)
    above = th0(k) + th(1:ni, j, k)
    below = th0(k - 1) + th(1:ni, j, k - 1)
    row = 2.0*grav*rdz*(above - below)/(above + below)
  end function stability

  ! Subgrid kinetic energy in balance of shear, buoyancy and dissipation, at w points; none where
  ! the air is stable. Smagorinsky and Lilly's closure with Prandtl number 1/3.
  function subgrid_energy(j, k) result(row)
    integer, intent(in) :: j, k
    real, parameter :: mixing = 0.10, dissipation = 0.93, prandtl = 1.0/3.0
    real :: row(ni), length_squared
    row = 0.0
    if (k < 2 .or. k > nk) return
    length_squared = (dx*dy*dz)**(2.0/3.0)
    row = max(0.0, (mixing/dissipation)*length_squared*(deformation(j, k) - stability(j, k)/prandtl))
  end function subgrid_energy

  ! Squared, 1/s2, at w points between levels k-1 and k.
  function deformation(j, k) result(row)
    integer, intent(in) :: j, k
    real, dimension(ni) :: row, ux, vy, wz, shear, tilt_x, tilt_y
    ux = 0.5*rdx*((u(2:ni + 1, j, k) - u(1:ni, j, k)) + (u(2:ni + 1, j, k - 1) - u(1:ni, j, k - 1)))
    vy = 0.5*rdy*((v(1:ni, j + 1, k) - v(1:ni, j, k)) + (v(1:ni, j + 1, k - 1) - v(1:ni, j, k - 1)))
    wz = 0.5*rdz*(w(1:ni, j, k + 1) - w(1:ni, j, k - 1))
    shear = 0.5*rdx*(v(2:ni + 1, j, k) - v(0:ni - 1, j, k)) + 0.5*rdy*(u(1:ni, j + 1, k) - u(1:ni, j - 1, k))
    tilt_x = 0.5*rdx*(w(2:ni + 1, j, k) - w(0:ni - 1, j, k)) + rdz*(u(1:ni, j, k) - u(1:ni, j, k - 1))
    tilt_y = 0.5*rdy*(w(1:ni, j + 1, k) - w(1:ni, j - 1, k)) + rdz*(v(1:ni, j, k) - v(1:ni, j, k - 1))
    row = 2.0*((ux**2 + vy**2) + wz**2) + shear**2 + (tilt_x**2 + tilt_y**2)
  end function deformation

end module cm1_diagnostics
