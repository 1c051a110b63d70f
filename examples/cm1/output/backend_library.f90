! Back end library: each variable goes to a shared library that the namelist names (config), so that any output library can be
! compared without changing the model. Its C functions: cm1_output_begin, _put, _end for each output, _close once at the end.
! Used by: every rank, under put_variable. As collective as the library is. Before it: output_list. After it: the library.
module cm1_library
  use, intrinsic :: iso_c_binding
  use cm1_constants, only: stop_model
  use cm1_settings, only: config, nx, ny, nz
  use cm1_grid, only: comm, i0, j0
  use cm1_catalogue, only: variable
  use cm1_collective, only: own_extent
  implicit none
  private
  public :: library_open, library_begin, library_put, library_end, library_close

  ! The values of a tile without its halo: x is contiguous, a row and a level begin `strides` values after the one before.
  ! Extents and places in the order x, y, z.
  abstract interface
    subroutine begin_output(comm, output) bind(C)
      import :: c_int
      integer(c_int), value :: comm, output
    end subroutine begin_output
    subroutine put_values(name, values, strides, extent, position, global) bind(C)
      import :: c_char, c_ptr, c_int64_t
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: values
      integer(c_int64_t), intent(in) :: strides(2), extent(3), position(3), global(3)
    end subroutine put_values
    subroutine no_argument() bind(C)
    end subroutine no_argument
  end interface

  interface
    function dlopen(path, flags) bind(C)
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags
      type(c_ptr) :: dlopen
    end function dlopen
    function dlsym(handle, name) bind(C)
      import :: c_char, c_ptr, c_funptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: dlsym
    end function dlsym
  end interface

  integer(c_int), parameter :: rtld_now = 2
  procedure(begin_output), pointer, save :: begin_it
  procedure(put_values), pointer, save :: put_it
  procedure(no_argument), pointer, save :: end_it, close_it

contains

  subroutine library_open()
    type(c_ptr) :: library
    library = dlopen(trim(config)//c_null_char, rtld_now)
    if (.not. c_associated(library)) call stop_model('cannot load "'//trim(config)//'": config must name a shared library')
    call c_f_procpointer(function_of(library, 'cm1_output_begin'), begin_it)
    call c_f_procpointer(function_of(library, 'cm1_output_put'), put_it)
    call c_f_procpointer(function_of(library, 'cm1_output_end'), end_it)
    call c_f_procpointer(function_of(library, 'cm1_output_close'), close_it)
  end subroutine library_open

  function function_of(library, name) result(found)
    type(c_ptr), intent(in) :: library
    character(*), intent(in) :: name
    type(c_funptr) :: found
    found = dlsym(library, name//c_null_char)
    if (.not. c_associated(found)) call stop_model('"'//trim(config)//'" has no function '//name)
  end function function_of

  subroutine library_begin(output)
    integer, intent(in) :: output
    call begin_it(comm, output)
  end subroutine library_begin

  ! A face between two tiles belongs to the upper one, so that the parts of all ranks make the global array.
  subroutine library_put(var, a)
    type(variable), intent(in) :: var
    real, intent(in), target :: a(:, :, :)
    integer(c_int64_t) :: strides(2), position(3)
    strides = (/place(a(1, 2, 1)) - place(a(1, 1, 1)), place(a(1, 1, 2)) - place(a(1, 1, 1))/)/4
    position = (/i0, j0, 0/)
    call put_it(trim(var%group)//'/'//trim(var%name)//c_null_char, c_loc(a(1, 1, 1)), strides, &
                int(own_extent(var), c_int64_t), position, int((/nx, ny, nz/) + var%more, c_int64_t))
  end subroutine library_put

  function place(value) result(address)
    real, intent(in), target :: value
    integer(c_int64_t) :: address
    address = transfer(c_loc(value), address)
  end function place

  subroutine library_end()
    call end_it()
  end subroutine library_end

  subroutine library_close()
    call close_it()
  end subroutine library_close

end module cm1_library
