/* Calls every function of probes/hdf5.toml and probes/damaris.toml and prints its result; test_calls.py compares them. The session needs no
 * server: recorded_calls_libraries CONFIG.
 */
#include <damaris/damaris.h>
#include <hdf5.h>
#include <string.h>

#define CALL_ERROR 0 /* errno says nothing behind these */
#include "calls.h"

static const double values[] = {1, 2, 3, 4};
static double got[4];

static void print_values(void) {
  print("values", (long long)(got[0] + 10 * got[1] + 100 * got[2] + 1000 * got[3]), 0);
  memset(got, 0, sizeof got);
}

static void hdf5(void) {
  hid_t file, dataset;
  const hsize_t four[] = {4}, six[] = {6}, most[] = {H5S_UNLIMITED};
  const hid_t space = H5Screate_simple(1, four, most), chunked = H5Pcreate(H5P_DATASET_CREATE);
  CALL(H5Dwrite, space, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values); /* HDF5 prints what is wrong */
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  H5Pset_chunk(chunked, 1, four);
  H5Pset_obj_track_times(chunked, false);
  CALL_FOR(file, -1, H5Fcreate, "no/where.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CALL_FOR(file, -1, H5Fcreate, "by_hdf5.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CALL_FOR(dataset, -1, H5Dcreate2, file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, chunked, H5P_DEFAULT);
  CALL(H5Dwrite, dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  CALL(H5Dwrite, file, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  const hsize_t start[] = {0};
  CALL(H5Dwrite_chunk, dataset, H5P_DEFAULT, 0, start, sizeof values, values);
  CALL(H5Dwrite_chunk, -1, H5P_DEFAULT, 0, start, sizeof values, values);
  CALL(H5Dset_extent, dataset, six);
  CALL(H5Dset_extent, -1, six);
  CALL(H5Dset_extent, dataset, four);
  const hid_t attribute = H5Acreate2(dataset, "four", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
  CALL(H5Awrite, attribute, H5T_NATIVE_DOUBLE, values);
  CALL(H5Awrite, dataset, H5T_NATIVE_DOUBLE, values);
  CALL(H5Aread, attribute, H5T_NATIVE_DOUBLE, got);
  print_values();
  CALL(H5Idec_ref, attribute);
  CALL(H5Idec_ref, attribute);
  CALL(H5Dclose, dataset);
  CALL(H5Dclose, dataset);
  CALL(H5Fflush, file, H5F_SCOPE_GLOBAL);
  CALL(H5Fflush, -1, H5F_SCOPE_LOCAL);
  CALL(H5Fclose, file);
  CALL(H5Fclose, file);
  CALL_FOR(file, -1, H5Fopen, "missing.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  CALL_FOR(file, -1, H5Fopen, "by_hdf5.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  CALL_FOR(dataset, -1, H5Dopen2, file, "missing", H5P_DEFAULT);
  CALL_FOR(dataset, -1, H5Dopen2, file, "field", H5P_DEFAULT);
  CALL(H5Dread, dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got);
  print_values();
  CALL(H5Dread, -1, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got);
  H5Dclose(dataset), H5Fclose(file), H5Sclose(space), H5Pclose(chunked);
}

static void logs(void) {
  const dc_piece_t pieces[] = {{values, 8}, {values + 1, 24}};
  dc_log_t* log = NULL;
  dc_position_t where = {0};
  void* block = NULL;
  CALL(dc_log, "unknown", &log);
  CALL(dc_log, "events", &log);
  CALL(dc_append, "unknown", values, 8, NULL);
  CALL(dc_append, "events", values, sizeof values, NULL);
  CALL(dc_append_to, log, values, 16, &where);
  print("where", (long long)where.offset, 0);
  CALL(dc_append_to, NULL, values, 16, &where);
  CALL(dc_append_list, log, pieces, 2, &where);
  CALL(dc_append_alloc, log, 40, &block);
  memset(block, 1, 40);
  CALL(dc_append_publish, log, block, 24, &where);
  print("where", (long long)where.offset, 0);
  CALL(dc_append_publish, log, block, 24, &where);
  CALL(dc_log_commit, "unknown", 30000);
  CALL(dc_log_commit, "events", 30000);
}

static void simulation(const char* config) {
  const int64_t four[] = {4}, five[] = {5};
  dc_variable_t* handle = NULL;
  dc_layout_t layout;
  void* block = NULL;
  CALL(dc_write, "field", 0, values);
  CALL(dc_initialize, "missing.xml", 0);
  CALL(dc_initialize, config, 0);
  CALL(dc_initialize, config, 0);
  CALL(dc_write, "field", 0, values);
  CALL(dc_write, "field", 0, values);
  CALL(dc_write, "unknown", 0, values);
  CALL(dc_write, NULL, 0, values);
  CALL(dc_write_block, "field", 0, 1, values);
  CALL(dc_write_typed, "field", 0, 2, DC_FLOAT64, values, 1, four, NULL);
  CALL(dc_write_typed, "field", 0, 3, DC_INT32, values, 1, four, NULL);
  CALL(dc_write_typed, "field", 0, 3, DC_ANY, values, 1, five, NULL);
  CALL(dc_alloc, "field", 0, 3, &block);
  memcpy(block, values, sizeof values);
  CALL(dc_commit, "field", 0, 3);
  CALL(dc_commit, "field", 0, 3);
  CALL(dc_alloc_typed, "field", 0, 4, DC_FLOAT64, &layout, &block);
  memcpy(block, values, sizeof values);
  CALL(dc_commit, "field", 0, 4);
  CALL(dc_alloc, "unknown", 0, 0, &block);
  CALL(dc_variable, "unknown", &handle);
  CALL(dc_variable, "field", &handle);
  CALL(dc_signal, "unknown", 0);
  CALL(dc_end_iteration, 0);
  CALL(dc_write_to, handle, 1, values);
  CALL(dc_write_to, NULL, 1, values);
  CALL(dc_write_to_typed, handle, 1, 1, DC_FLOAT64, values, 1, four, NULL);
  CALL(dc_write_to_typed, handle, 1, 2, DC_CHAR, values, 1, four, NULL);
  CALL(dc_read, "field", 0, got);
  CALL(dc_read_block, "field", 0, 1, got);
  CALL(dc_end_iteration, 1);
  CALL(dc_end_iteration, 0);
  CALL(dc_flush, 1, 30000);
  logs();
  CALL(dc_finalize, );
  CALL(dc_finalize, );
}

int main(int count, char** words) {
  if (count != 2 || !open_results("results")) return 1;
  hdf5();
  simulation(words[1]);
  return 0;
}
