! Back end fpp: each process writes a file of its own at every output, without the halo.
! Used by: every rank, under put_variable. Not collective. Before it: output_list.
! After it: <basename>_<output>_<rank>.h5 with /<group>/<variable>, position as an attribute.
module cm1_file_per_process
  use hdf5
  use cm1_settings, only: output_path, output_basename
  use cm1_grid, only: me, i0, j0
  use cm1_catalogue, only: variable
  use cm1_hdf5_pieces
  implicit none
  private
  public :: process_file_begin, process_file_put, process_file_end, open_hdf5, close_hdf5

  integer(hid_t), save :: file

contains

  subroutine process_file_begin(output, time)
    integer, intent(in) :: output
    real, intent(in) :: time
    character(len=640) :: path
    integer :: status
    write (path, '(4a,i6.6,a,i4.4,a)') trim(output_path), '/', trim(output_basename), '_', output, '_', me, '.h5'
    call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, status)
    call need(status, 'create', path)
    call write_number(file, 'time_s', time)
    call make_groups(file)
  end subroutine process_file_begin

  subroutine process_file_put(var, a)
    type(variable), intent(in) :: var
    real, intent(in) :: a(:, :, :)
    integer(hsize_t) :: extent(3)
    integer(hid_t) :: space, dataset
    integer :: status
    extent = shape(a)
    call h5screate_simple_f(3, extent, space, status)
    call h5dcreate_f(file, trim(var%group)//'/'//trim(var%name), H5T_NATIVE_REAL, space, dataset, status)
    call need(status, 'create dataset', var%name)
    call h5dwrite_f(dataset, H5T_NATIVE_REAL, a, extent, status)
    call need(status, 'write dataset', var%name)
    call describe(dataset, var)
    call write_triple(dataset, 'position', (/0, j0, i0/))  ! in C order, as the file's readers count
    call h5dclose_f(dataset, status)
    call h5sclose_f(space, status)
  end subroutine process_file_put

  subroutine process_file_end()
    integer :: status
    call h5fclose_f(file, status)
    call need(status, 'close', output_basename)
  end subroutine process_file_end

end module cm1_file_per_process
