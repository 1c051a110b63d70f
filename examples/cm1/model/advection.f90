! Flux-form upwind advection: fifth order in x and y, third order in z, and the flows that carry
! each kind of field. Used by: every rank, once per field and Runge-Kutta stage.
! Before it: fields with their halos. After it: tendency, runge_kutta.
!
! Every sum pairs the mirror images of a stencil first, and x with y before z, so that mirrored
! and transposed flows stay equal to the last bit.
module cm1_advection
  use cm1_grid
  use cm1_state, only: u, v, w, rho0, rho0_face, flux_x, flux_y, flux_z, mass_w
  implicit none
  private
  public :: transport, set_mass_flow, flows_for_u, flows_for_v, flows_for_w

  real, parameter :: c37 = 37.0/60.0, c8 = 8.0/60.0, c1 = 1.0/60.0
  real, parameter :: d10 = 10.0/60.0, d5 = 5.0/60.0
  real, parameter :: c7 = 7.0/12.0, e1 = 1.0/12.0, e3 = 3.0/12.0

contains

  ! rho0 * w at the faces of the scalar cells.
  subroutine set_mass_flow()
    integer :: k
    do k = 1, nk + 1
      mass_w(:, :, k) = rho0_face(k)*w(:, :, k)
    end do
  end subroutine set_mass_flow

  ! Flows through the faces of the cells about the u points.
  subroutine flows_for_u()
    integer :: i, j, k
    do k = 1, nk + 1
      do j = 1, nj + 1
        do i = 1, ni + 1
          flux_x(i, j, k) = 0.5*(u(i - 1, j, k) + u(i, j, k))
          flux_y(i, j, k) = 0.5*(v(i - 1, j, k) + v(i, j, k))
          flux_z(i, j, k) = 0.5*(mass_w(i - 1, j, k) + mass_w(i, j, k))
        end do
      end do
    end do
  end subroutine flows_for_u

  subroutine flows_for_v()
    integer :: i, j, k
    do k = 1, nk + 1
      do j = 1, nj + 1
        do i = 1, ni + 1
          flux_x(i, j, k) = 0.5*(u(i, j - 1, k) + u(i, j, k))
          flux_y(i, j, k) = 0.5*(v(i, j - 1, k) + v(i, j, k))
          flux_z(i, j, k) = 0.5*(mass_w(i, j - 1, k) + mass_w(i, j, k))
        end do
      end do
    end do
  end subroutine flows_for_v

  ! The lower face of the cell about w(k) lies at scalar level k-1.
  subroutine flows_for_w()
    integer :: i, j, k
    do k = 2, nk + 1
      do j = 1, nj + 1
        do i = 1, ni + 1
          flux_x(i, j, k) = 0.5*(u(i, j, k - 1) + u(i, j, k))
          flux_y(i, j, k) = 0.5*(v(i, j, k - 1) + v(i, j, k))
          flux_z(i, j, k) = rho0(k - 1)*(0.5*(w(i, j, k - 1) + w(i, j, k)))
        end do
      end do
    end do
  end subroutine flows_for_w

  ! Tendency of s by the flow (fx, fy, fz) on levels first..last, with `density` of each level.
  ! conserve: pure flux form, the sum of density*s stays; else a constant s stays constant.
  subroutine transport(s, fx, fy, fz, density, first, last, conserve, change)
    real, intent(in), dimension(ib:ie, jb:je, kb:ke) :: s, fx, fy, fz
    real, intent(in) :: density(kb:ke)
    integer, intent(in) :: first, last
    logical, intent(in) :: conserve
    real, intent(inout) :: change(ib:ie, jb:je, kb:ke)
    real :: across_x(ni + 1, nj), across_y(ni, nj + 1), below(ni, nj), above(ni, nj)
    integer :: k
    below = 0.0
    if (first > 1) call vertical_flux(s, fz, first, below)
    do k = first, last
      call horizontal_flux(s, fx, fy, k, across_x, across_y)
      call vertical_flux(s, fz, k + 1, above)
      call converge(across_x, across_y, below, above, rdz/density(k), change(:, :, k))
      if (.not. conserve) call add_divergence(s, fx, fy, fz, rdz/density(k), k, change(:, :, k))
      below = above
    end do
  end subroutine transport

  subroutine horizontal_flux(s, fx, fy, k, across_x, across_y)
    real, intent(in), dimension(ib:ie, jb:je, kb:ke) :: s, fx, fy
    integer, intent(in) :: k
    real, intent(out) :: across_x(ni + 1, nj), across_y(ni, nj + 1)
    integer :: i, j
    do j = 1, nj
      do i = 1, ni + 1
        across_x(i, j) = upwind5(fx(i, j, k), s(i - 3, j, k), s(i - 2, j, k), s(i - 1, j, k), &
                                 s(i, j, k), s(i + 1, j, k), s(i + 2, j, k))
      end do
    end do
    do j = 1, nj + 1
      do i = 1, ni
        across_y(i, j) = upwind5(fy(i, j, k), s(i, j - 3, k), s(i, j - 2, k), s(i, j - 1, k), &
                                 s(i, j, k), s(i, j + 1, k), s(i, j + 2, k))
      end do
    end do
  end subroutine horizontal_flux

  ! Through the face between levels k-1 and k.
  subroutine vertical_flux(s, fz, k, across)
    real, intent(in), dimension(ib:ie, jb:je, kb:ke) :: s, fz
    integer, intent(in) :: k
    real, intent(out) :: across(ni, nj)
    integer :: i, j
    do j = 1, nj
      do i = 1, ni
        across(i, j) = upwind3(fz(i, j, k), s(i, j, k - 2), s(i, j, k - 1), s(i, j, k), s(i, j, k + 1))
      end do
    end do
  end subroutine vertical_flux

  subroutine converge(across_x, across_y, below, above, rdz_density, change)
    real, intent(in) :: across_x(ni + 1, nj), across_y(ni, nj + 1), below(ni, nj), above(ni, nj), rdz_density
    real, intent(inout) :: change(ib:ie, jb:je)
    integer :: i, j
    do j = 1, nj
      do i = 1, ni
        change(i, j) = -((((across_x(i + 1, j) - across_x(i, j))*rdx) + ((across_y(i, j + 1) - across_y(i, j))*rdy)) &
                         + (above(i, j) - below(i, j))*rdz_density)
      end do
    end do
  end subroutine converge

  subroutine add_divergence(s, fx, fy, fz, rdz_density, k, change)
    real, intent(in), dimension(ib:ie, jb:je, kb:ke) :: s, fx, fy, fz
    real, intent(in) :: rdz_density
    integer, intent(in) :: k
    real, intent(inout) :: change(ib:ie, jb:je)
    integer :: i, j
    do j = 1, nj
      do i = 1, ni
        change(i, j) = change(i, j) + s(i, j, k)*((((fx(i + 1, j, k) - fx(i, j, k))*rdx) &
                       + ((fy(i, j + 1, k) - fy(i, j, k))*rdy)) + (fz(i, j, k + 1) - fz(i, j, k))*rdz_density)
      end do
    end do
  end subroutine add_divergence

  ! Flux through the face between a3 and b1, carried by `flow` from a to b.
  pure real function upwind5(flow, a1, a2, a3, b1, b2, b3)
    real, intent(in) :: flow, a1, a2, a3, b1, b2, b3
    upwind5 = flow*((c37*(a3 + b1) - c8*(a2 + b2)) + c1*(a1 + b3)) &
              - abs(flow)*((d10*(b1 - a3) - d5*(b2 - a2)) + c1*(b3 - a1))
  end function upwind5

  pure real function upwind3(flow, a1, a2, b1, b2)
    real, intent(in) :: flow, a1, a2, b1, b2
    upwind3 = flow*(c7*(a2 + b1) - e1*(a1 + b2)) - abs(flow)*(e3*(b1 - a2) - e1*(b2 - a1))
  end function upwind3

end module cm1_advection
