/* Another libhdf5, as an application may bring: it has the plugin's names, and whoever calls one of them is dead.
 * Used by: second_hdf5_test, on its main thread.
 * Before it: the dynamic linker. After it: abort.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FAKE(name)                                             \
  int name(void) {                                             \
    fputs("the application's " #name " was called\n", stderr); \
    abort();                                                   \
  }
#define FAKE_ID(name) int64_t name = 12345;

FAKE(H5open)
FAKE(H5check_version)
FAKE(H5Aclose)
FAKE(H5Acreate2)
FAKE(H5Awrite)
FAKE(H5Dclose)
FAKE(H5Dcreate2)
FAKE(H5Dwrite)
FAKE(H5Eget_auto2)
FAKE(H5Eset_auto2)
FAKE(H5Ewalk2)
FAKE(H5Fclose)
FAKE(H5Fcreate)
FAKE(H5Fflush)
FAKE(H5Pclose)
FAKE(H5Pcreate)
FAKE(H5Pset_chunk)
FAKE(H5Pset_libver_bounds)
FAKE(H5Screate)
FAKE(H5Screate_simple)
FAKE(H5Sselect_hyperslab)
FAKE(H5Tcopy)
FAKE(H5Tset_size)
FAKE(H5Zfilter_avail)
FAKE_ID(H5T_NATIVE_INT32_g)
FAKE_ID(H5T_NATIVE_INT64_g)
FAKE_ID(H5T_C_S1_g)
FAKE_ID(H5P_CLS_FILE_ACCESS_ID_g)
FAKE_ID(H5P_CLS_DATASET_CREATE_ID_g)
FAKE_ID(H5P_CLS_LINK_CREATE_ID_g)
