! What each phase of each step cost this rank, kept in memory and written as CSV at the end, and
! the one-line summary. Means hide jitter; these do not.
! Used by: every rank. Before it: main, output. After it: cm1_timers_NNNN.csv, one file a rank.
module cm1_timers
  use mpi
  use cm1_constants, only: stop_model
  use cm1_settings, only: output_path, backend
  use cm1_grid, only: comm, me, ranks
  implicit none
  private
  public :: phase_compute, phase_statistics, phase_diagnose, phase_write, phase_restart
  public :: start_phase, end_phase, write_timers, print_summary

  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: phase_compute = 1, phase_statistics = 2, phase_diagnose = 3, phase_write = 4, &
                        phase_restart = 5, phases = 5
  character(len=10), parameter :: names(phases) = &
    (/'compute   ', 'statistics', 'diagnose  ', 'write     ', 'restart   '/)

  integer, save :: records = 0
  integer, allocatable, save :: steps(:), kinds(:)
  real(dp), allocatable, save :: seconds(:)
  real(dp), save :: started

contains

  subroutine start_phase()
    started = MPI_Wtime()
  end subroutine start_phase

  ! Adds the time since start_phase to the phase of this step: parts of one phase are one record.
  subroutine end_phase(kind, step)
    integer, intent(in) :: kind, step
    real(dp) :: spent
    integer :: r
    spent = MPI_Wtime() - started
    do r = records, max(1, records - phases + 1), -1
      if (steps(r) /= step .or. kinds(r) /= kind) cycle
      seconds(r) = seconds(r) + spent
      return
    end do
    call append(kind, step, spent)
  end subroutine end_phase

  subroutine append(kind, step, spent)
    integer, intent(in) :: kind, step
    real(dp), intent(in) :: spent
    integer, allocatable :: wider(:)
    real(dp), allocatable :: longer(:)
    integer :: room
    if (.not. allocated(steps)) allocate (steps(1024), kinds(1024), seconds(1024))
    room = size(steps)
    if (records == room) then
      allocate (wider(2*room)); wider(1:room) = steps; call move_alloc(wider, steps)
      allocate (wider(2*room)); wider(1:room) = kinds; call move_alloc(wider, kinds)
      allocate (longer(2*room)); longer(1:room) = seconds; call move_alloc(longer, seconds)
    end if
    records = records + 1
    steps(records) = step
    kinds(records) = kind
    seconds(records) = spent
  end subroutine append

  subroutine write_timers()
    integer, parameter :: unit = 32
    character(len=8) :: rank
    integer :: r, status
    write (rank, '(i4.4)') me
    open (unit, file=trim(output_path)//'/cm1_timers_'//trim(rank)//'.csv', action='write', &
          status='replace', iostat=status)
    if (status /= 0) call stop_model('cannot write the timers into "'//trim(output_path)//'"')
    write (unit, '(a)') 'rank,step,phase,seconds'
    do r = 1, records
      write (unit, '(i0,a,i0,3a,f0.9)') me, ',', steps(r), ',', trim(names(kinds(r))), ',', seconds(r)
    end do
    close (unit)
  end subroutine write_timers

  ! One line from rank 0. Collective. worst write: the slowest rank's longest write phase.
  subroutine print_summary(last_step, time_to_solution)
    integer, intent(in) :: last_step
    real(dp), intent(in) :: time_to_solution
    real(dp) :: total(phases), worst(phases), longest(1), write_worst(1)
    integer :: p, ierr
    do p = 1, phases
      total(p) = sum(seconds(1:records), mask=kinds(1:records) == p)
    end do
    longest = max(0.0_dp, maxval(seconds(1:records), mask=kinds(1:records) == phase_write))
    call MPI_Reduce(total, worst, phases, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, ierr)
    call MPI_Reduce(longest, write_worst, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, ierr)
    if (me /= 0) return
    write (*, '(3a,i0,a,i0,8(a,f0.4))') 'cm1: backend=', trim(backend), ' ranks=', ranks, ' steps=', last_step, &
      ' time_to_solution_s=', time_to_solution, ' compute_s=', worst(phase_compute), &
      ' statistics_s=', worst(phase_statistics), ' diagnose_s=', worst(phase_diagnose), &
      ' write_s=', worst(phase_write), ' restart_s=', worst(phase_restart), ' worst_write_s=', write_worst
  end subroutine print_summary

end module cm1_timers
