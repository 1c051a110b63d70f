/* All ranks write one dataset of one file: H5Dwrite over MPI_File_write_at_all over pwrite. parallel_hdf5 FILE [left]
 * left: it leaves the file to MPI_Finalize, which then writes what HDF5 has kept. */
#include <hdf5.h>
#include <mpi.h>

#define ROWS 64
#define COLUMNS 1024

int main(int count, char** words) {
  int rank, ranks;
  static double block[ROWS][COLUMNS];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) block[i][j] = rank + i * 0.5 + j;

  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t all[] = {(hsize_t)(ROWS * ranks), COLUMNS}, own[] = {ROWS, COLUMNS}, first[] = {(hsize_t)(ROWS * rank), 0};
  const hid_t there = H5Screate_simple(2, all, NULL), here = H5Screate_simple(2, own, NULL);
  const hid_t group = H5Gcreate2(file, "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t dataset = H5Dcreate2(group, "temperature", H5T_NATIVE_DOUBLE, there, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sselect_hyperslab(there, H5S_SELECT_SET, first, NULL, own, NULL);
  const herr_t wrote = H5Dwrite(dataset, H5T_NATIVE_DOUBLE, here, there, transfer, block);
  if (count == 2) H5Dclose(dataset), H5Gclose(group), H5Fclose(file);
  H5Sclose(there), H5Sclose(here), H5Pclose(access), H5Pclose(transfer);
  MPI_Finalize();
  return wrote < 0;
}
