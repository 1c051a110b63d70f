! What both HDF5 back ends need: groups, attributes, and an error message that names the file.
! Used by: the file-per-process and the collective back end. Before it: catalogue. After it: HDF5.
module cm1_hdf5_pieces
  use hdf5
  use cm1_constants, only: stop_model
  use cm1_catalogue, only: variable, variables, variable_count
  implicit none
  private
  public :: open_hdf5, close_hdf5, need, make_groups, write_text, write_number, write_triple, describe

contains

  subroutine open_hdf5()
    integer :: status
    call h5open_f(status)
    call need(status, 'start HDF5', '')
  end subroutine open_hdf5

  subroutine close_hdf5()
    integer :: status
    call h5close_f(status)
  end subroutine close_hdf5

  subroutine need(status, action, path)
    integer, intent(in) :: status
    character(*), intent(in) :: action, path
    if (status < 0) call stop_model('cannot '//action//' '//trim(path)// &
      ': is the output folder there, writable, and the disk not full?')
  end subroutine need

  ! One group for each group name of the catalogue.
  subroutine make_groups(file)
    integer(hid_t), intent(in) :: file
    integer(hid_t) :: group
    integer :: n, status
    do n = 1, variable_count
      if (any(variables(1:n - 1)%group == variables(n)%group)) cycle
      call h5gcreate_f(file, trim(variables(n)%group), group, status)
      call need(status, 'make group', variables(n)%group)
      call h5gclose_f(group, status)
    end do
  end subroutine make_groups

  ! Unit and meaning of a dataset.
  subroutine describe(dataset, var)
    integer(hid_t), intent(in) :: dataset
    type(variable), intent(in) :: var
    call write_text(dataset, 'units', var%unit)
    call write_text(dataset, 'description', var%description)
  end subroutine describe

  subroutine write_text(object, name, text)
    integer(hid_t), intent(in) :: object
    character(*), intent(in) :: name, text
    integer(hid_t) :: space, kind, attribute
    integer :: status
    call h5screate_f(H5S_SCALAR_F, space, status)
    call h5tcopy_f(H5T_FORTRAN_S1, kind, status)
    call h5tset_size_f(kind, int(len_trim(text), size_t), status)
    call h5acreate_f(object, name, kind, space, attribute, status)
    call need(status, 'write attribute', name)
    call h5awrite_f(attribute, kind, trim(text), (/1_hsize_t/), status)
    call h5aclose_f(attribute, status)
    call h5tclose_f(kind, status)
    call h5sclose_f(space, status)
  end subroutine write_text

  subroutine write_number(object, name, value)
    integer(hid_t), intent(in) :: object
    character(*), intent(in) :: name
    real, intent(in) :: value
    integer(hid_t) :: space, attribute
    integer :: status
    call h5screate_f(H5S_SCALAR_F, space, status)
    call h5acreate_f(object, name, H5T_NATIVE_REAL, space, attribute, status)
    call need(status, 'write attribute', name)
    call h5awrite_f(attribute, H5T_NATIVE_REAL, value, (/1_hsize_t/), status)
    call h5aclose_f(attribute, status)
    call h5sclose_f(space, status)
  end subroutine write_number

  subroutine write_triple(object, name, values)
    integer(hid_t), intent(in) :: object
    character(*), intent(in) :: name
    integer, intent(in) :: values(3)
    integer(hid_t) :: space, attribute
    integer :: status
    call h5screate_simple_f(1, (/3_hsize_t/), space, status)
    call h5acreate_f(object, name, H5T_NATIVE_INTEGER, space, attribute, status)
    call need(status, 'write attribute', name)
    call h5awrite_f(attribute, H5T_NATIVE_INTEGER, values, (/3_hsize_t/), status)
    call h5aclose_f(attribute, status)
    call h5sclose_f(space, status)
  end subroutine write_triple

end module cm1_hdf5_pieces
