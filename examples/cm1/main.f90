! The mini-app: reads the namelist, lays out the tiles, and steps the storm with its phases
! compute, statistics, write and restart.
! Used by: every process of the job; a dedicated core leaves it after damaris_start.
! Before it: mpirun. After it: output files, cm1_stats.csv, cm1_timers_NNNN.csv, one summary line.
program cm1
  use mpi
  use cm1_settings
  use cm1_placement, only: place_ranks
  use cm1_grid, only: set_grid, me
  use cm1_state, only: allocate_state
  use cm1_sounding, only: set_base_state
  use cm1_initial, only: set_initial_state, refresh_halos
  use cm1_acoustic, only: choose_acoustic_steps
  use cm1_runge_kutta, only: advance
  use cm1_courant, only: check_courant
  use cm1_statistics
  use cm1_output
  use cm1_restart
  use cm1_timers
  use cm1_damaris, only: damaris_start, damaris_stop
  implicit none
  integer :: model_comm, ierr, first_step, last_step
  logical :: is_model
  double precision :: started

  call MPI_Init(ierr)
  call read_settings(namelist_path())
  started = MPI_Wtime()
  model_comm = MPI_COMM_WORLD  ! the one communicator of the model
  is_model = .true.
  if (backend == 'damaris') call damaris_start(MPI_COMM_WORLD, model_comm, is_model)
  if (is_model) call run_model()
  call MPI_Finalize(ierr)

contains

  subroutine run_model()
    integer :: step
    call prepare()
    do step = first_step + 1, last_step
      call one_step(step)
    end do
    call finish()
  end subroutine run_model

  subroutine prepare()
    call place_ranks(model_comm)
    call set_grid(model_comm)
    call allocate_state()
    call set_base_state()
    call choose_acoustic_steps()
    call open_statistics()
    call open_output()
    last_step = nint(timax/dtl)
    first_step = 0
    if (irst == 1) then
      call read_restart(rstnum, first_step, outputs)
      call refresh_halos()
    else
      call set_initial_state()
      call write_output(0, 0.0)
    end if
  end subroutine prepare

  subroutine one_step(step)
    integer, intent(in) :: step
    real :: time, courant
    time = real(step)*dtl
    call start_phase()
    call advance()
    call check_courant(step, courant)
    call end_phase(phase_compute, step)
    if (due(step, statfrq)) then
      call start_phase()
      call write_statistics(step, time)
      call end_phase(phase_statistics, step)
      if (me == 0) call show_progress(step, time, courant)
    end if
    if (due(step, tapfrq)) call write_output(step, time)
    if (due(step, rstfrq)) then
      call start_phase()
      call write_restart(step, outputs)
      call end_phase(phase_restart, step)
    end if
  end subroutine one_step

  subroutine show_progress(step, time, courant)
    integer, intent(in) :: step
    real, intent(in) :: time, courant
    write (*, '(a,i0,a,i0,a,f0.1,a,f5.3)') 'cm1: step ', step, ' of ', last_step, ' time_s ', time, ' courant ', courant
    flush (6)
  end subroutine show_progress

  ! The clock stops when the data are where they belong, not when the last call returned.
  subroutine finish()
    call close_output()
    if (backend == 'damaris') call damaris_stop()
    call MPI_Barrier(model_comm, ierr)
    call print_summary(last_step - first_step, MPI_Wtime() - started)
    call close_statistics()
    call write_timers()
  end subroutine finish

  function namelist_path() result(path)
    character(len=512) :: path
    path = 'namelist.input'
    if (command_argument_count() > 0) call get_command_argument(1, path)
  end function namelist_path

end program cm1
