/* A file system that cannot reserve room, as NFS before version 4.2, or with DAMARIS_TEST_RESERVE=lies one that says that it has reserved what is
 * not there: to be preloaded.
 * Used by: the tests mpi_shared_no_reserve and mpi_shared_full_disk, in every rank.
 * Before it: the plugin's fallocate. After it: what the plugin does without.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

int fallocate(int descriptor, int mode, off_t offset, off_t length);
int fallocate64(int descriptor, int mode, off_t offset, off_t length);

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  (void)descriptor, (void)mode, (void)offset, (void)length;
  if (getenv("DAMARIS_TEST_RESERVE") != NULL) return 0;
  errno = EOPNOTSUPP;
  return -1;
}

int fallocate64(int descriptor, int mode, off_t offset, off_t length) { return fallocate(descriptor, mode, offset, length); }
