! Back end collective: all ranks write one shared file at every output, each variable as one global
! array by a collective hyperslab write. Used by: every rank, under put_variable. Collective.
! Before it: output_list. After it: <basename>_<output>.h5 with /<group>/<variable>.
module cm1_collective
  use mpi
  use hdf5
  use cm1_settings, only: output_path, output_basename, nx, ny, nz
  use cm1_grid, only: comm, ni, nj, nk, i0, j0, last_x, last_y
  use cm1_catalogue, only: variable
  use cm1_hdf5_pieces
  implicit none
  private
  public :: shared_file_begin, shared_file_put, shared_file_end, own_extent

  integer(hid_t), save :: file, transfer

contains

  subroutine shared_file_begin(output, time)
    integer, intent(in) :: output
    real, intent(in) :: time
    character(len=640) :: path
    integer(hid_t) :: access
    integer :: status
    write (path, '(4a,i6.6,a)') trim(output_path), '/', trim(output_basename), '_', output, '.h5'
    call h5pcreate_f(H5P_FILE_ACCESS_F, access, status)
    call h5pset_fapl_mpio_f(access, comm, MPI_INFO_NULL, status)
    call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, status, access_prp=access)
    call need(status, 'create', path)
    call h5pclose_f(access, status)
    call h5pcreate_f(H5P_DATASET_XFER_F, transfer, status)
    call h5pset_dxpl_mpio_f(transfer, H5FD_MPIO_COLLECTIVE_F, status)
    call write_number(file, 'time_s', time)
    call make_groups(file)
  end subroutine shared_file_begin

  subroutine shared_file_put(var, a)
    type(variable), intent(in) :: var
    real, intent(in) :: a(:, :, :)
    integer(hsize_t) :: global(3), mine(3)
    integer(hid_t) :: in_file, in_memory, dataset
    integer :: status
    global = (/nx, ny, nz/) + var%more
    mine = own_extent(var)
    call h5screate_simple_f(3, global, in_file, status)
    call h5dcreate_f(file, trim(var%group)//'/'//trim(var%name), H5T_NATIVE_REAL, in_file, dataset, status)
    call need(status, 'create dataset', var%name)
    call describe(dataset, var)
    call h5sselect_hyperslab_f(in_file, H5S_SELECT_SET_F, int((/i0, j0, 0/), hsize_t), mine, status)
    call h5screate_simple_f(3, mine, in_memory, status)
    call h5dwrite_f(dataset, H5T_NATIVE_REAL, a(1:mine(1), 1:mine(2), 1:mine(3)), mine, status, &
                    mem_space_id=in_memory, file_space_id=in_file, xfer_prp=transfer)
    call need(status, 'write dataset', var%name)
    call h5dclose_f(dataset, status)
    call h5sclose_f(in_memory, status)
    call h5sclose_f(in_file, status)
  end subroutine shared_file_put

  ! A face between two tiles is written by the upper tile, the domain's far face by the last.
  function own_extent(var) result(extent)
    type(variable), intent(in) :: var
    integer(hsize_t) :: extent(3)
    extent = (/ni, nj, nk + var%more(3)/)
    if (last_x) extent(1) = extent(1) + var%more(1)
    if (last_y) extent(2) = extent(2) + var%more(2)
  end function own_extent

  subroutine shared_file_end()
    integer :: status
    call h5pclose_f(transfer, status)
    call h5fclose_f(file, status)
    call need(status, 'close', output_basename)
  end subroutine shared_file_end

end module cm1_collective
