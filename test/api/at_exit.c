/* A program whose atexit handler still calls Damaris: errors have their sentences there, and the open step is stored. */
#include <damaris/damaris.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int kFour[4] = {1, 2, 3, 4};
static const char kName[] = "a name that no variable has, and that is too long to lie in a string of the library itself";

static void fail(const char* what) {
  fprintf(stderr, "FAILED: %s; the last error is '%s'\n", what, dc_last_error());
  _exit(1);
}

static void at_exit(void) {
  void* taken[64];
  if (strstr(dc_last_error(), kName) == NULL) fail("the sentence of before exit is gone");
  for (int i = 0; i < 64; ++i) {
    if (dc_write(kName, 1, kFour) != DC_E_UNKNOWN_NAME) fail("another code");
    taken[i] = malloc(200);
    memset(taken[i], 'Z', 200);
    if (strstr(dc_last_error(), kName) == NULL) fail("another sentence");
  }
  for (int i = 0; i < 64; ++i) free(taken[i]);
  if (dc_finalize() != DC_OK) fail("dc_finalize");
}

int main(int argc, char** argv) {
  if (argc != 2 || atexit(at_exit) != 0) return 2;
  if (dc_initialize(argv[1], 0) != DC_OK) fail("dc_initialize");
  if (dc_write("x", 0, kFour) != DC_OK) fail("dc_write");
  return dc_write(kName, 0, kFour) == DC_E_UNKNOWN_NAME ? 0 : 1;
}
