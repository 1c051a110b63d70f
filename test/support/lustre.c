/* A Lustre file system with DAMARIS_TEST_TARGETS targets, as far as programs see it when they stripe a file: to be preloaded.
 * Used by: the test unit_plugins_hdf5_lustre.
 * Before it: the plugin's statfs and ioctl. After it: a line in the file DAMARIS_TEST_STRIPES for each file that is striped: its bytes so far,
 * the number of stripes and their bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { kMagicAt = 0, kBytesAt = 24, kCountAt = 28, kFirstAt = 30 };

int statfs(const char* path, struct statfs* facts) {
  const long result = syscall(SYS_statfs, path, facts);
  if (result == 0) facts->f_type = 0x0BD00BD0;
  return (int)result;
}

static int stripe(int descriptor, const char* request) {
  uint32_t magic, bytes;
  uint16_t count, first;
  struct stat facts;
  memcpy(&magic, request + kMagicAt, sizeof magic);
  memcpy(&bytes, request + kBytesAt, sizeof bytes);
  memcpy(&count, request + kCountAt, sizeof count);
  memcpy(&first, request + kFirstAt, sizeof first);
  const char *targets = getenv("DAMARIS_TEST_TARGETS"), *log = getenv("DAMARIS_TEST_STRIPES");
  if (magic != 0x0BD10BD0 || first != 0xffff || targets == NULL || count > atoi(targets)) return errno = EINVAL, -1;
  if (fstat(descriptor, &facts) != 0) return -1;
  FILE* file = log == NULL ? NULL : fopen(log, "a");
  if (file == NULL) return 0;
  fprintf(file, "%lld %u %u\n", (long long)facts.st_size, count, bytes);
  return fclose(file);
}

int ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  char* argument = va_arg(arguments, char*);
  va_end(arguments);
  if (request == 0x4008669aUL) return stripe(descriptor, argument);
  return (int)syscall(SYS_ioctl, descriptor, request, argument);
}
