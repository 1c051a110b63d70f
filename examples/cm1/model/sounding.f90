! The base state: Weisman and Klemp's (1982) sounding in hydrostatic balance, and the wind of a
! quarter-circle hodograph. Used by: every rank, once; each computes the same column.
! Before it: grid, settings. After it: initial state; every equation that deviates from it.
module cm1_sounding
  use cm1_constants
  use cm1_settings, only: imoist, iwnd, umove, vmove, dz
  use cm1_grid, only: nk, kb, ke, z_scalar
  use cm1_state, only: th0, thv0, pi0, qv0, rho0, rho0_face, u0, v0
  implicit none
  private
  public :: set_base_state, saturation, pressure_at

  integer, parameter :: dp = kind(1.0d0)
  real(dp), parameter :: tropopause = 12000.0_dp, th_ground = 300.0_dp, th_tropopause = 343.0_dp
  real(dp), parameter :: t_tropopause = 213.0_dp, qv_mixed = 0.014_dp

contains

  subroutine set_base_state()
    integer :: k
    call balance()
    do k = 1, nk
      rho0(k) = p00*pi0(k)**(cv/rd)/(rd*thv0(k))
      call wind(z_scalar(k), u0(k), v0(k))
    end do
    call extend(th0); call extend(thv0); call extend(pi0); call extend(qv0)
    call extend(rho0); call extend(u0); call extend(v0)
    do k = 1, nk + 1
      rho0_face(k) = 0.5*(rho0(k - 1) + rho0(k))
    end do
  end subroutine set_base_state

  ! Upwards from the ground; the vapour of a level needs its pressure and the other way round.
  subroutine balance()
    integer :: k, again
    real(dp) :: exner, thv, thv_below, th, qv, z
    exner = 1.0_dp
    thv_below = th_ground*(1.0_dp + vapour_lift*mixing_ratio(0.0_dp, th_ground, exner))
    do k = 1, nk
      z = real(z_scalar(k), dp)
      th = potential_temperature(z)
      qv = 0.0_dp
      do again = 1, 20
        thv = th*(1.0_dp + vapour_lift*qv)
        qv = mixing_ratio(z, th, exner - step_to(k)*grav/(cp*0.5_dp*(thv + thv_below)))
      end do
      exner = exner - step_to(k)*grav/(cp*0.5_dp*(thv + thv_below))
      thv_below = thv
      th0(k) = real(th)
      qv0(k) = real(qv)
      pi0(k) = real(exner)
      thv0(k) = real(thv)
    end do
  end subroutine balance

  ! Height gained from the level below, the ground for the first, m.
  real(dp) function step_to(k)
    integer, intent(in) :: k
    step_to = real(dz, dp)
    if (k == 1) step_to = 0.5_dp*step_to
  end function step_to

  real(dp) function potential_temperature(z)
    real(dp), intent(in) :: z
    if (z <= tropopause) then
      potential_temperature = th_ground + (th_tropopause - th_ground)*(z/tropopause)**1.25_dp
    else
      potential_temperature = th_tropopause*exp(grav*(z - tropopause)/(cp*t_tropopause))
    end if
  end function potential_temperature

  real(dp) function mixing_ratio(z, th, exner)
    real(dp), intent(in) :: z, th, exner
    real(dp) :: humidity
    mixing_ratio = 0.0_dp
    if (imoist == 0) return
    humidity = 0.25_dp
    if (z <= tropopause) humidity = 1.0_dp - 0.75_dp*(z/tropopause)**1.25_dp
    mixing_ratio = min(qv_mixed, humidity*saturation(real(th*exner), real(p00*exner**(cp/rd))))
  end function mixing_ratio

  ! Turns from 0 to (7, 7) m/s over the lowest 2 km, then veers on to u = 31 m/s at 6 km.
  subroutine wind(z, u, v)
    real, intent(in) :: z
    real, intent(out) :: u, v
    real :: angle
    u = 0.0
    v = 0.0
    if (iwnd == 0) return
    angle = 0.5*acos(-1.0)*min(z, 2000.0)/2000.0
    u = 7.0*(1.0 - cos(angle))
    v = 7.0*sin(angle)
    if (z > 2000.0) u = 7.0 + 24.0*min(z - 2000.0, 4000.0)/4000.0
    u = u - umove
    v = v - vmove
  end subroutine wind

  subroutine extend(a)
    real, intent(inout) :: a(kb:ke)
    a(0) = a(1)
    a(nk + 1) = a(nk)
    a(nk + 2) = a(nk)
  end subroutine extend

  ! Vapour at saturation over water (Tetens), kg/kg, from K and Pa.
  elemental real function saturation(t, p)
    real, intent(in) :: t, p
    saturation = (380.0/p)*exp(17.27*(t - 273.0)/(t - 36.0))
  end function saturation

  elemental real function pressure_at(exner)
    real, intent(in) :: exner
    pressure_at = p00*exner**(cp/rd)
  end function pressure_at

end module cm1_sounding
