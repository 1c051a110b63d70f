! The first state: the base state's wind and vapour, a warm bubble that starts the storm, and a
! tracer that marks the air near the ground. Used by: every rank, once, unless it restarts.
! Before it: sounding. After it: the first exchange and the first step.
module cm1_initial
  use cm1_settings, only: iinit
  use cm1_grid
  use cm1_state
  use cm1_halo
  implicit none
  private
  public :: set_initial_state, refresh_halos

  ! The bubble, as CM1's iinit = 1: K and m.
  real, parameter :: warmth = 1.0, radius = 10000.0, half_depth = 1400.0, height = 1400.0
  real, parameter :: tracer_depth = 2000.0

contains

  subroutine set_initial_state()
    integer :: k
    do k = 1, nk
      u(:, :, k) = u0(k)
      v(:, :, k) = v0(k)
      qv(:, :, k) = qv0(k)
      tr(:, :, k) = exp(-(z_scalar(k)/tracer_depth)**2)
    end do
    if (iinit == 1) call add_bubble()
    call refresh_halos()
  end subroutine set_initial_state

  subroutine add_bubble()
    integer :: i, j, k
    real :: x2, y2, z2, distance, half_pi
    half_pi = 0.5*acos(-1.0)
    do k = 1, nk
      z2 = ((z_scalar(k) - height)/half_depth)**2
      do j = 1, nj
        y2 = (y_from_centre(j)/radius)**2
        do i = 1, ni
          x2 = (x_from_centre(i)/radius)**2
          distance = sqrt((x2 + y2) + z2)
          if (distance < 1.0) th(i, j, k) = warmth*cos(half_pi*distance)**2
        end do
      end do
    end do
  end subroutine add_bubble

  ! Makes the halo of every prognostic field right, in x, y and z. Collective.
  subroutine refresh_halos()
    call exchange((/ref(u), ref(v), ref(w), ref(th), ref(pi), ref(qv), ref(qc), ref(qr), ref(tr)/), halo_xy)
    call fill_levels(u); call fill_levels(v); call fill_levels(th); call fill_levels(pi)
    call fill_levels(qv); call fill_levels(qc); call fill_levels(qr); call fill_levels(tr)
    call fill_levels_w(w)
  end subroutine refresh_halos

end module cm1_initial
