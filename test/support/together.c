/* Preloaded into two clients: each waits in dc_finalize until the other is there too, so that both are in the run at the same time, however slowly
 * one of them starts. Both have the same working directory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

enum { kClients = 2, kMostTries = 3000 }; /* of 10 ms */

static int are_all_here(void) {
  glob_t found = {0};
  glob("together.*", 0, NULL, &found);
  const int all = found.gl_pathc >= kClients;
  globfree(&found);
  return all;
}

int dc_finalize(void) {
  char name[64];
  snprintf(name, sizeof name, "together.%d", (int)getpid());
  close(open(name, O_CREAT | O_WRONLY, 0600));
  for (int i = 0; i < kMostTries && !are_all_here(); ++i) usleep(10000);
  int (*const real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "dc_finalize");
  return real();
}
