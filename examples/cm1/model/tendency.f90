! The slow tendencies of the wind: advection, buoyancy, and the sponge below the lid.
! Used by: every rank, once per Runge-Kutta stage (times the work multiplier).
! Before it: advection. After it: acoustic, which adds the pressure gradient.
module cm1_tendency
  use cm1_constants, only: grav, vapour_lift
  use cm1_settings, only: irdamp, rdalpha, zd, dz, nz
  use cm1_grid
  use cm1_state
  use cm1_advection
  implicit none
  private
  public :: wind_tendencies, sponge

contains

  subroutine wind_tendencies()
    call set_mass_flow()
    call flows_for_u()
    call transport(u, flux_x, flux_y, flux_z, rho0, 1, nk, .false., u_slow)
    call flows_for_v()
    call transport(v, flux_x, flux_y, flux_z, rho0, 1, nk, .false., v_slow)
    call flows_for_w()
    call transport(w, flux_x, flux_y, flux_z, rho0_face, 2, nk, .false., w_slow)
    call add_buoyancy()
    call damp_wind()
  end subroutine wind_tendencies

  subroutine add_buoyancy()
    integer :: i, j, k
    do k = 2, nk
      do j = 1, nj
        do i = 1, ni
          w_slow(i, j, k) = w_slow(i, j, k) + 0.5*(lift(i, j, k - 1) + lift(i, j, k))
        end do
      end do
    end do
  end subroutine add_buoyancy

  ! Acceleration of the air at a scalar point, m/s2.
  real function lift(i, j, k)
    integer, intent(in) :: i, j, k
    lift = grav*(th(i, j, k)/th0(k) + vapour_lift*(qv(i, j, k) - qv0(k)) - (qc(i, j, k) + qr(i, j, k)))
  end function lift

  subroutine damp_wind()
    integer :: k
    real :: r
    do k = 1, nk
      r = sponge(z_scalar(k))
      if (r > 0.0) then
        u_slow(1:ni, 1:nj, k) = u_slow(1:ni, 1:nj, k) - r*(u(1:ni, 1:nj, k) - u0(k))
        v_slow(1:ni, 1:nj, k) = v_slow(1:ni, 1:nj, k) - r*(v(1:ni, 1:nj, k) - v0(k))
      end if
      r = sponge(z_face(k))
      if (r > 0.0) w_slow(1:ni, 1:nj, k) = w_slow(1:ni, 1:nj, k) - r*w(1:ni, 1:nj, k)
    end do
  end subroutine damp_wind

  ! Rayleigh damping rate, 1/s: none below zd, rdalpha at the lid.
  real function sponge(z)
    real, intent(in) :: z
    real :: top, depth
    sponge = 0.0
    top = real(nz)*dz
    if (irdamp == 0 .or. z <= zd .or. zd >= top) return
    depth = (z - zd)/(top - zd)
    sponge = rdalpha*0.5*(1.0 - cos(acos(-1.0)*depth))
  end function sponge

end module cm1_tendency
