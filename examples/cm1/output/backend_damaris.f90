! Back end damaris: each variable is handed to the dedicated core of the node, which writes it.
! Used by: every rank, under put_variable; start and stop by main. Only the start is collective.
! Before it: output_list. After it: the library's buffer in shared memory, then the server's files.
module cm1_damaris
  use damaris
  use damaris_mpi
  use cm1_settings, only: config, nx, ny, nz
  use cm1_grid, only: ni, nj, i0, j0
  use cm1_catalogue, only: variable
  implicit none
  private
  public :: damaris_start, damaris_describe, damaris_begin, damaris_put, damaris_end, damaris_stop

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
