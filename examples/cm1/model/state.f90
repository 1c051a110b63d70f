! The model's memory: prognostic fields, the base state they deviate from, and scratch arrays.
! Used by: every rank of the model. All arrays carry the halo; u sits on west faces, v on south
! faces, w on lower faces. Before it: grid. After it: initial state, dynamics, output.
module cm1_state
  use cm1_grid, only: ib, ie, jb, je, kb, ke
  implicit none
  public

  ! Prognostic fields: m/s, K, Exner function, kg/kg, tracer 1.
  real, allocatable, target :: u(:, :, :), v(:, :, :), w(:, :, :)
  real, allocatable, target :: th(:, :, :), pi(:, :, :)
  real, allocatable, target :: qv(:, :, :), qc(:, :, :), qr(:, :, :), tr(:, :, :)
  real, allocatable :: rain(:, :)       ! rain that has reached the ground, kg/m2

  ! The same at the start of the step.
  real, allocatable :: u_old(:, :, :), v_old(:, :, :), w_old(:, :, :), th_old(:, :, :), pi_old(:, :, :)
  real, allocatable :: qv_old(:, :, :), qc_old(:, :, :), qr_old(:, :, :), tr_old(:, :, :)

  ! Base state of each level: potential temperature, its virtual one, Exner function, vapour,
  ! density at scalar points and at faces, wind.
  real, allocatable :: th0(:), thv0(:), pi0(:), qv0(:), rho0(:), rho0_face(:), u0(:), v0(:)

  ! Slow tendencies, pressure as the acoustic steps see it, scratch.
  real, allocatable, target :: u_slow(:, :, :), v_slow(:, :, :), w_slow(:, :, :), pi_ahead(:, :, :)
  real, allocatable, target :: scratch(:, :, :), tend(:, :, :)
  real, allocatable :: flux_x(:, :, :), flux_y(:, :, :), flux_z(:, :, :), mass_w(:, :, :)

contains

  subroutine allocate_state()
    call field(u); call field(v); call field(w); call field(th); call field(pi)
    call field(qv); call field(qc); call field(qr); call field(tr)
    call field(u_old); call field(v_old); call field(w_old); call field(th_old); call field(pi_old)
    call field(qv_old); call field(qc_old); call field(qr_old); call field(tr_old)
    call field(u_slow); call field(v_slow); call field(w_slow); call field(pi_ahead)
    call field(scratch); call field(tend)
    call field(flux_x); call field(flux_y); call field(flux_z); call field(mass_w)
    call column(th0); call column(thv0); call column(pi0); call column(qv0)
    call column(rho0); call column(rho0_face); call column(u0); call column(v0)
    allocate (rain(ib:ie, jb:je))
    rain = 0.0
  end subroutine allocate_state

  subroutine field(a)
    real, allocatable, intent(out) :: a(:, :, :)
    allocate (a(ib:ie, jb:je, kb:ke))
    a = 0.0
  end subroutine field

  subroutine column(a)
    real, allocatable, intent(out) :: a(:)
    allocate (a(kb:ke))
    a = 0.0
  end subroutine column

  ! Keeps the state from which each Runge-Kutta stage starts.
  subroutine keep_state()
    u_old = u; v_old = v; w_old = w; th_old = th; pi_old = pi
    qv_old = qv; qc_old = qc; qr_old = qr; tr_old = tr
  end subroutine keep_state

end module cm1_state
