! The statistics phase: extremes of each field with their place, and sums of mass, water, momentum
! and energy; many small reductions, as in CM1. One line of cm1_stats.csv each time.
! Used by: every rank, every statfrq; rank 0 keeps the file. Collective over the communicator.
! Before it: the state after a step. After it: nothing; no number here enters the dynamics.
module cm1_statistics
  use mpi
  use cm1_constants
  use cm1_settings, only: dx, dy, dz, output_path, nx, ny
  use cm1_grid
  use cm1_state
  implicit none
  private
  public :: open_statistics, write_statistics, close_statistics

  integer, parameter :: dp = kind(1.0d0), unit = 31, columns = 9*8 + 10
  character(len=*), parameter :: fields = 'u,v,w,th,pi,qv,qc,qr,tracer'
  character(len=*), parameter :: sums = ',mass,vapour,cloud,rainwater,rain_fallen,tracer_mass,'// &
                                 'momentum_x,momentum_y,kinetic_energy,internal_energy'
  real(dp) :: line(columns)
  integer :: filled

contains

  subroutine open_statistics()
    character(len=16) :: name
    integer :: from, to, status
    if (me /= 0) return
    open (unit, file=trim(output_path)//'/cm1_stats.csv', action='write', status='replace', iostat=status)
    if (status /= 0) call stop_model('cannot write into the output folder "'//trim(output_path)// &
      '" (output_path): create it, or choose another')
    write (unit, '(a)', advance='no') 'step,time_s'
    from = 1
    do while (from <= len(fields))
      to = index(fields(from:)//',', ',') + from - 2
      name = fields(from:to)
      write (unit, '(8a)', advance='no') ',', trim(name)//'_max', ',', trim(name)//'_max_i', &
        ',', trim(name)//'_max_j', ',', trim(name)//'_max_k'
      write (unit, '(8a)', advance='no') ',', trim(name)//'_min', ',', trim(name)//'_min_i', &
        ',', trim(name)//'_min_j', ',', trim(name)//'_min_k'
      from = to + 2
    end do
    write (unit, '(a)') sums
  end subroutine open_statistics

  subroutine write_statistics(step, time)
    integer, intent(in) :: step
    real, intent(in) :: time
    integer :: c
    filled = 0
    call extremes(u); call extremes(v); call extremes(w); call extremes(th); call extremes(pi)
    call extremes(qv); call extremes(qc); call extremes(qr); call extremes(tr)
    call add_sums()
    if (me /= 0) return
    write (unit, '(i0,a,f0.2)', advance='no') step, ',', time
    do c = 1, filled
      write (unit, '(a,es15.8)', advance='no') ',', line(c)
    end do
    write (unit, '(a)') ''
  end subroutine write_statistics

  subroutine close_statistics()
    if (me == 0) close (unit)
  end subroutine close_statistics

  subroutine extremes(a)
    real, intent(in) :: a(ib:ie, jb:je, kb:ke)
    integer :: spot(3)
    spot = maxloc(a(1:ni, 1:nj, 1:nk))
    call reduce_extreme(a(spot(1), spot(2), spot(3)), spot, MPI_MAXLOC)
    spot = minloc(a(1:ni, 1:nj, 1:nk))
    call reduce_extreme(a(spot(1), spot(2), spot(3)), spot, MPI_MINLOC)
  end subroutine extremes

  subroutine reduce_extreme(value, spot, operation)
    real, intent(in) :: value
    integer, intent(in) :: spot(3), operation
    real(dp) :: mine(2), all(2)
    integer :: place, ierr
    place = (spot(1) + i0 - 1) + nx*((spot(2) + j0 - 1) + ny*(spot(3) - 1))
    mine = (/real(value, dp), real(place, dp)/)
    call MPI_Reduce(mine, all, 1, MPI_2DOUBLE_PRECISION, operation, 0, comm, ierr)
    if (me /= 0) return
    place = nint(all(2))
    line(filled + 1) = all(1)
    line(filled + 2) = mod(place, nx) + 1
    line(filled + 3) = mod(place/nx, ny) + 1
    line(filled + 4) = place/(nx*ny) + 1
    filled = filled + 4
  end subroutine reduce_extreme

  ! kg, kg m/s and J over the whole domain.
  subroutine add_sums()
    real(dp) :: cell(9), s(9), volume
    integer :: i, j, k
    volume = real(dx, dp)*dy*dz
    s = 0.0_dp
    do k = 1, nk
      cell = 0.0_dp
      do j = 1, nj
        do i = 1, ni
          call add_point(i, j, k, cell)
        end do
      end do
      s = s + cell*(rho0(k)*volume)
    end do
    call reduce_sum(s(1)); call reduce_sum(s(2)); call reduce_sum(s(3)); call reduce_sum(s(4))
    call reduce_sum(sum(real(rain(1:ni, 1:nj), dp))*dx*dy)
    call reduce_sum(s(5)); call reduce_sum(s(6)); call reduce_sum(s(7))
    call reduce_sum(s(8)); call reduce_sum(s(9))
  end subroutine add_sums

  ! Per unit of mass: air, vapour, cloud, rain, tracer, momentum, kinetic and internal energy.
  subroutine add_point(i, j, k, cell)
    integer, intent(in) :: i, j, k
    real(dp), intent(inout) :: cell(9)
    cell(1) = cell(1) + 1.0_dp
    cell(2) = cell(2) + qv(i, j, k)
    cell(3) = cell(3) + qc(i, j, k)
    cell(4) = cell(4) + qr(i, j, k)
    cell(5) = cell(5) + tr(i, j, k)
    cell(6) = cell(6) + u(i, j, k)
    cell(7) = cell(7) + v(i, j, k)
    cell(8) = cell(8) + 0.5_dp*(real(u(i, j, k), dp)**2 + real(v(i, j, k), dp)**2 + real(w(i, j, k), dp)**2)
    cell(9) = cell(9) + real(cv, dp)*(th0(k) + th(i, j, k))*(pi0(k) + pi(i, j, k))
  end subroutine add_point

  subroutine reduce_sum(mine)
    real(dp), intent(in) :: mine
    real(dp) :: all(1)
    integer :: ierr
    call MPI_Reduce((/mine/), all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, comm, ierr)
    if (me /= 0) return
    filled = filled + 1
    line(filled) = all(1)
  end subroutine reduce_sum

end module cm1_statistics
