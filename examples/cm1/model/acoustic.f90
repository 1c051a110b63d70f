! The fast part: sound waves in small forward-backward steps, with divergence damping.
! Used by: every rank, once per Runge-Kutta stage. Collective over the neighbours (pressure).
! Before it: tendency. After it: the wind and pressure of the stage.
module cm1_acoustic
  use cm1_constants
  use cm1_settings, only: dx, dy, dz, dtl, kdiv, nsound
  use cm1_grid
  use cm1_state
  use cm1_halo
  implicit none
  private
  public :: acoustic_steps, choose_acoustic_steps

  real, parameter :: courant_limit = 0.9

contains

  ! Number of small steps in a whole time step: a multiple of 6, so that thirds and halves are whole.
  subroutine choose_acoustic_steps()
    real :: sound, courant
    if (nsound > 0) return
    sound = sqrt(maxval((cp/cv)*rd*thv0(1:nk)*pi0(1:nk)))
    courant = dtl*sound*sqrt(rdx*rdx + rdy*rdy + rdz*rdz)
    nsound = 6*ceiling(courant/(6.0*courant_limit))
  end subroutine choose_acoustic_steps

  ! From the kept state over `seconds`, in `steps` small steps, under the slow tendencies.
  subroutine acoustic_steps(seconds, steps)
    real, intent(in) :: seconds
    integer, intent(in) :: steps
    integer :: n
    real :: dts
    dts = seconds/real(steps)
    u = u_old; v = v_old; w = w_old; pi = pi_old
    pi_ahead = pi_old
    call exchange((/ref(u_slow), ref(v_slow)/), 1)  ! the faces on the tile's far sides
    do n = 1, steps
      call push_wind(dts)
      call push_pressure(dts)
      if (n < steps) call exchange((/ref(pi_ahead)/), 1)
    end do
  end subroutine acoustic_steps

  subroutine push_wind(dts)
    real, intent(in) :: dts
    integer :: i, j, k
    real :: gx, gy, gz
    do k = 1, nk
      gx = cp*thv0(k)*rdx
      gy = cp*thv0(k)*rdy
      gz = cp*0.5*(thv0(k - 1) + thv0(k))*rdz
      do j = 1, nj + 1
        do i = 1, ni + 1
          u(i, j, k) = u(i, j, k) + dts*(u_slow(i, j, k) - gx*(pi_ahead(i, j, k) - pi_ahead(i - 1, j, k)))
          v(i, j, k) = v(i, j, k) + dts*(v_slow(i, j, k) - gy*(pi_ahead(i, j, k) - pi_ahead(i, j - 1, k)))
        end do
      end do
      if (k == 1) cycle
      do j = 1, nj
        do i = 1, ni
          w(i, j, k) = w(i, j, k) + dts*(w_slow(i, j, k) - gz*(pi_ahead(i, j, k) - pi_ahead(i, j, k - 1)))
        end do
      end do
    end do
  end subroutine push_wind

  ! pi_ahead looks a little into the future: that damps the divergence, hence the sound.
  subroutine push_pressure(dts)
    real, intent(in) :: dts
    integer :: i, j, k
    real :: stiffness, up, down, before
    do k = 1, nk
      stiffness = dts*rd*pi0(k)/cv
      up = rho0_face(k + 1)*0.5*(thv0(k) + thv0(k + 1))*rdz/(rho0(k)*thv0(k))
      down = rho0_face(k)*0.5*(thv0(k - 1) + thv0(k))*rdz/(rho0(k)*thv0(k))
      do j = 1, nj
        do i = 1, ni
          before = pi(i, j, k)
          pi(i, j, k) = before - stiffness*((((u(i + 1, j, k) - u(i, j, k))*rdx) &
                        + ((v(i, j + 1, k) - v(i, j, k))*rdy)) + (up*w(i, j, k + 1) - down*w(i, j, k)))
          pi_ahead(i, j, k) = pi(i, j, k) + kdiv*(pi(i, j, k) - before)
        end do
      end do
    end do
  end subroutine push_pressure

end module cm1_acoustic
