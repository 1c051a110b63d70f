/* A file system that cannot reserve room, as NFS before version 4.2: to be preloaded.
 * Used by: the test mpi_shared_no_reserve, in every rank.
 * Before it: the plugin's fallocate. After it: what the plugin does without.
 */
#include <errno.h>
#include <sys/types.h>

int fallocate(int descriptor, int mode, off_t offset, off_t length);
int fallocate64(int descriptor, int mode, off_t offset, off_t length);

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  (void)descriptor, (void)mode, (void)offset, (void)length;
  errno = EOPNOTSUPP;
  return -1;
}

int fallocate64(int descriptor, int mode, off_t offset, off_t length) { return fallocate(descriptor, mode, offset, length); }
