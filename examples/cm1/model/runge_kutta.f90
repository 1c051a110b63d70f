! One time step: three Runge-Kutta stages (Wicker and Skamarock 2002), each with slow tendencies,
! advected scalars and acoustic steps; then the cloud physics.
! Used by: every rank, once a step. Collective over the neighbours.
! Before it: the state of step n with right halos. After it: the state of step n+1, the same.
module cm1_runge_kutta
  use cm1_settings, only: dtl, work, imoist, ptype, nsound
  use cm1_grid
  use cm1_state
  use cm1_advection, only: transport
  use cm1_tendency, only: wind_tendencies, sponge
  use cm1_acoustic, only: acoustic_steps
  use cm1_kessler, only: cloud_physics
  use cm1_initial, only: refresh_halos
  implicit none
  private
  public :: advance

contains

  subroutine advance()
    integer :: stage, again
    call keep_state()
    do stage = 1, 3
      do again = 1, work
        call wind_tendencies()
      end do
      call step_scalars(dtl/real(4 - stage))
      call acoustic_steps(dtl/real(4 - stage), max(1, nsound/(4 - stage)))
      if (stage == 3 .and. imoist == 1 .and. ptype == 1) call cloud_physics(dtl)
      call refresh_halos()
    end do
  end subroutine advance

  subroutine step_scalars(seconds)
    real, intent(in) :: seconds
    call carry(th, .false.)
    call add_theta_sources()
    call step(th, th_old, seconds)
    call carry(tr, .true.)
    call step(tr, tr_old, seconds)
    if (imoist == 0) return
    call carry(qv, .false.)
    call step(qv, qv_old, seconds)
    call carry(qc, .false.)
    call step(qc, qc_old, seconds)
    call carry(qr, .false.)
    call step(qr, qr_old, seconds)
  end subroutine step_scalars

  ! The tendency does not change the field, so that repeating it costs time and nothing else.
  subroutine carry(s, conserve)
    real, intent(in) :: s(ib:ie, jb:je, kb:ke)
    logical, intent(in) :: conserve
    integer :: again
    do again = 1, work
      call transport(s, u, v, mass_w, rho0, 1, nk, conserve, tend)
    end do
  end subroutine carry

  ! th deviates from th0, which the vertical wind carries as well; the sponge pulls it back.
  subroutine add_theta_sources()
    integer :: i, j, k
    real :: below, above, r
    do k = 1, nk
      below = 0.5*rdz*(th0(k) - th0(k - 1))
      above = 0.5*rdz*(th0(k + 1) - th0(k))
      r = sponge(z_scalar(k))
      do j = 1, nj
        do i = 1, ni
          tend(i, j, k) = tend(i, j, k) - (w(i, j, k)*below + w(i, j, k + 1)*above) - r*th(i, j, k)
        end do
      end do
    end do
  end subroutine add_theta_sources

  subroutine step(s, s_old, seconds)
    real, intent(inout) :: s(ib:ie, jb:je, kb:ke)
    real, intent(in) :: s_old(ib:ie, jb:je, kb:ke)
    real, intent(in) :: seconds
    s(1:ni, 1:nj, 1:nk) = s_old(1:ni, 1:nj, 1:nk) + seconds*tend(1:ni, 1:nj, 1:nk)
  end subroutine step

end module cm1_runge_kutta
