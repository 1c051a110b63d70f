! The model's one output routine: every variable of the catalogue goes through put_variable, to the
! back end the namelist names. A middleware takes its hook here and nowhere else.
! Used by: every rank, every tapfrq. Before it: the state after a step. After it: a back end.
module cm1_output
  use mpi
  use cm1_settings, only: backend, rstfrq, due
  use cm1_grid, only: ni, nj, nk
  use cm1_catalogue
  use cm1_timers
  use cm1_file_per_process
  use cm1_collective
  use cm1_damaris
  use cm1_library
  implicit none
  private
  public :: open_output, write_output, close_output, outputs

  integer, save :: outputs = 0  ! how many there are, restarts included

contains

  subroutine open_output()
    select case (backend)
    case ('fpp', 'collective'); call open_hdf5()
    case ('damaris'); call damaris_describe()
    case ('library'); call library_open()
    end select
  end subroutine open_output

  subroutine write_output(step, time)
    integer, intent(in) :: step
    real, intent(in) :: time
    real, pointer :: a(:, :, :)
    integer :: n, m(3)
    outputs = outputs + 1
    if (backend == 'none') return
    call start_phase()
    call begin_output(time)
    call end_phase(phase_write, step)
    do n = 1, variable_count
      call start_phase()
      a => array_of(n)
      call end_phase(phase_diagnose, step)
      m = variables(n)%more
      call start_phase()
      call put_variable(variables(n), a(1:ni + m(1), 1:nj + m(2), 1:nk + m(3)))
      call end_phase(phase_write, step)
    end do
    call start_phase()
    if (backend == 'damaris' .and. due(step, rstfrq)) call damaris_put_restart(outputs, step)
    call end_output()
    call end_phase(phase_write, step)
  end subroutine write_output

  subroutine begin_output(time)
    real, intent(in) :: time
    select case (backend)
    case ('fpp'); call process_file_begin(outputs, time)
    case ('collective'); call shared_file_begin(outputs, time)
    case ('damaris'); call damaris_begin(outputs, time)
    case ('library'); call library_begin(outputs)
    end select
  end subroutine begin_output

  ! The interior arrives as a section of the array with its halo: no copy is made on the way.
  subroutine put_variable(var, a)
    type(variable), intent(in) :: var
    real, intent(in) :: a(:, :, :)
    select case (backend)
    case ('fpp'); call process_file_put(var, a)
    case ('collective'); call shared_file_put(var, a)
    case ('damaris'); call damaris_put(var, outputs, a)
    case ('library'); call library_put(var, a)
    end select
  end subroutine put_variable

  subroutine end_output()
    select case (backend)
    case ('fpp'); call process_file_end()
    case ('collective'); call shared_file_end()
    case ('damaris'); call damaris_end(outputs)
    case ('library'); call library_end()
    end select
  end subroutine end_output

  subroutine close_output()
    select case (backend)
    case ('fpp', 'collective'); call close_hdf5()
    case ('library'); call library_close()
    end select
  end subroutine close_output

end module cm1_output
