! Back end damaris: each variable is handed to the dedicated core of the node, which writes it, and reads it
! back for a run that goes on from another one.
! Used by: every rank, under put_variable; start and stop by main. Only start and restart are collective.
! Before it: output_list. After it: the library's buffer in shared memory, then the server's files.
module cm1_damaris
  use damaris
  use damaris_mpi
  use mpi
  use cm1_constants, only: stop_model
  use cm1_settings, only: config, nx, ny, nz, dtl
  use cm1_grid, only: ni, nj, nk, i0, j0, comm, me
  use cm1_state, only: rain
  use cm1_catalogue, only: variable, variables, variable_count, array_of
  implicit none
  private
  public :: damaris_start, damaris_describe, damaris_begin, damaris_put, damaris_end, damaris_stop
  public :: damaris_put_restart, damaris_get_restart

contains

  ! Gives the model its communicator. On a dedicated core it returns at the very end of the run.
  subroutine damaris_start(world, model_comm, is_model)
    integer, intent(in) :: world
    integer, intent(out) :: model_comm
    logical, intent(out) :: is_model
    call df_mpi_initialize(trim(config), world, model_comm, is_model)
  end subroutine damaris_start

  ! The tile's extents and place. The layouts of the XML are expressions of the parameters; a
  ! position given to a layout holds for all its variables.
  subroutine damaris_describe()
    character(len=6), parameter :: layouts(4) = (/'points', 'x_face', 'y_face', 'z_face'/)
    integer :: n
    call df_set_parameter('nx', nx)
    call df_set_parameter('ny', ny)
    call df_set_parameter('nz', nz)
    call df_set_parameter('ni', ni)
    call df_set_parameter('nj', nj)
    do n = 1, size(layouts)
      call df_set_position(layouts(n), (/i0, j0, 0/))
    end do
    call df_set_position('ground', (/i0, j0/))
  end subroutine damaris_describe

  subroutine damaris_begin(output, time)
    integer, intent(in) :: output
    real, intent(in) :: time
    call df_set_time(output, real(time, kind(1.0d0)))
  end subroutine damaris_begin

  subroutine damaris_put(var, output, a)
    type(variable), intent(in) :: var
    integer, intent(in) :: output
    real, intent(in) :: a(:, :, :)
    call df_write(full_name(var), output, a)
  end subroutine damaris_put

  subroutine damaris_end(output)
    integer, intent(in) :: output
    call df_end_iteration(output)
  end subroutine damaris_end

  ! What an output lacks to be a restart: the model's own arrays are among its variables.
  subroutine damaris_put_restart(output, step)
    integer, intent(in) :: output, step
    call df_write('restart/rain', output, rain(1:ni, 1:nj))
    if (me == 0) call df_write('restart/clock', output, (/real(step, kind(1.0d0)), real(dtl, kind(1.0d0))/))
  end subroutine damaris_put_restart

  ! The state of output `number` of the run that the XML names (0: its last restart), on whatever tiles
  ! it had. Leaves the halos for the caller to refresh.
  subroutine damaris_get_restart(number, step, outputs)
    integer, intent(in) :: number
    integer, intent(out) :: step, outputs
    real, pointer :: a(:, :, :)
    integer :: n, m(3)
    outputs = number
    if (number == 0) call df_last_step('restart/rain', outputs)
    call get_clock(outputs, step)
    do n = 1, variable_count
      if (variables(n)%group /= 'fields') cycle
      a => array_of(n)
      m = variables(n)%more
      call df_read(full_name(variables(n)), outputs, a(1:ni + m(1), 1:nj + m(2), 1:nk + m(3)))
    end do
    call df_read('restart/rain', outputs, rain(1:ni, 1:nj))
  end subroutine damaris_get_restart

  ! Without a place in the grid it belongs to the rank that wrote it.
  subroutine get_clock(output, step)
    integer, intent(in) :: output
    integer, intent(out) :: step
    double precision :: clock(2)
    integer :: ierr
    if (me == 0) call df_read('restart/clock', output, clock)
    call MPI_Bcast(clock, 2, MPI_DOUBLE_PRECISION, 0, comm, ierr)
    if (abs(clock(2) - real(dtl, kind(1.0d0))) > 0.0d0) &
      call stop_model('the run to go on from has another time step (dtl); restart with the same')
    step = nint(clock(1))
  end subroutine get_clock

  ! Returns when what was handed over is on disk.
  subroutine damaris_stop()
    call df_finalize()
  end subroutine damaris_stop

  function full_name(var) result(name)
    type(variable), intent(in) :: var
    character(len=len_trim(var%group) + 1 + len_trim(var%name)) :: name
    name = trim(var%group)//'/'//trim(var%name)
  end function full_name

end module cm1_damaris
