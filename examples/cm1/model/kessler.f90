! Warm rain after Kessler (1969) as Klemp and Wilhelmson (1978) use it: cloud turns to rain, rain
! falls and evaporates, and vapour and cloud are brought to saturation.
! Used by: every rank, once a step, column by column. Before it: the last Runge-Kutta stage.
! After it: the halo exchange that closes the step.
module cm1_kessler
  use cm1_constants
  use cm1_settings, only: dz
  use cm1_grid, only: ni, nj, nk, kb, ke, ib, ie, jb, je
  use cm1_state, only: th, pi, qv, qc, qr, th0, pi0, rho0, rain
  use cm1_sounding, only: saturation, pressure_at
  implicit none
  private
  public :: cloud_physics, fall_speed

contains

  subroutine cloud_physics(seconds)
    real, intent(in) :: seconds
    integer :: i, j, k
    do j = 1, nj
      do i = 1, ni
        call let_rain_fall(qr(i, j, 1:nk), rain(i, j), seconds)
        do k = 1, nk
          call clip(qv(i, j, k))
          call clip(qc(i, j, k))
          call clip(qr(i, j, k))
          call collect(qc(i, j, k), qr(i, j, k), seconds)
          call saturate(i, j, k, seconds)
        end do
      end do
    end do
  end subroutine cloud_physics

  ! Advection of high order undershoots; water is never negative.
  subroutine clip(q)
    real, intent(inout) :: q
    if (q < 0.0) q = 0.0
  end subroutine clip

  ! Autoconversion above 1 g/kg and accretion.
  subroutine collect(cloud, drops, seconds)
    real, intent(inout) :: cloud, drops
    real, intent(in) :: seconds
    real :: moved
    if (cloud <= 0.0) return
    moved = 0.001*max(cloud - 0.001, 0.0)
    if (drops > 0.0) moved = moved + 2.2*cloud*drops**0.875
    moved = min(cloud, seconds*moved)
    cloud = cloud - moved
    drops = drops + moved
  end subroutine collect

  ! Condenses what is above saturation; evaporates cloud, then rain, where the air is dry.
  subroutine saturate(i, j, k, seconds)
    integer, intent(in) :: i, j, k
    real, intent(in) :: seconds
    real :: exner, p, t, qvs, condensed
    exner = pi0(k) + pi(i, j, k)
    p = pressure_at(exner)
    t = (th0(k) + th(i, j, k))*exner
    qvs = saturation(t, p)
    condensed = (qv(i, j, k) - qvs)/(1.0 + qvs*4093.0*latent/(cp*(t - 36.0)**2))
    condensed = max(condensed, -qc(i, j, k))
    qc(i, j, k) = qc(i, j, k) + condensed
    if (qr(i, j, k) > 0.0 .and. qv(i, j, k) - condensed < qvs) &
      call evaporate(qr(i, j, k), qv(i, j, k), qvs, rho0(k), p, seconds, condensed)
    qv(i, j, k) = qv(i, j, k) - condensed
    th(i, j, k) = th(i, j, k) + condensed*latent/(cp*exner)
  end subroutine saturate

  subroutine evaporate(drops, vapour, qvs, density, p, seconds, condensed)
    real, intent(inout) :: drops, condensed
    real, intent(in) :: vapour, qvs, density, p, seconds
    real :: rate, content, lost
    content = 0.001*density*drops  ! g/cm3, as Kessler's coefficients want it
    rate = (1.6 + 124.9*content**0.2046)*content**0.525*(1.0 - vapour/qvs) &
           /((0.001*density)*(5.4e5 + 2.55e6/(0.01*p*qvs)))
    lost = min(drops, max(0.0, seconds*rate), qvs - (vapour - condensed))
    drops = drops - lost
    condensed = condensed - lost
  end subroutine evaporate

  ! Upstream, in as many parts of the step as the fastest drop of the column asks for.
  subroutine let_rain_fall(drops, fallen, seconds)
    real, intent(inout) :: drops(nk), fallen
    real, intent(in) :: seconds
    real :: flow(nk + 1), speed, dt
    integer :: k, part, parts
    if (maxval(drops) <= 0.0) return
    speed = 0.0
    do k = 1, nk
      speed = max(speed, fall_speed(drops(k), rho0(k)))
    end do
    parts = max(1, ceiling(seconds*speed/(0.8*dz)))
    dt = seconds/real(parts)
    flow(nk + 1) = 0.0
    do part = 1, parts
      do k = 1, nk
        flow(k) = rho0(k)*drops(k)*fall_speed(drops(k), rho0(k))
      end do
      fallen = fallen + dt*flow(1)
      do k = 1, nk
        drops(k) = drops(k) + dt*(flow(k + 1) - flow(k))/(rho0(k)*dz)
      end do
    end do
  end subroutine let_rain_fall

  ! m/s
  real function fall_speed(drops, density)
    real, intent(in) :: drops, density
    fall_speed = 0.0
    if (drops > 1.0e-12) fall_speed = 36.34*(0.001*density*drops)**0.1364*sqrt(rho0(1)/density)
  end function fall_speed

end module cm1_kessler
