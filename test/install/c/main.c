/* An outside simulation in C: writes one variable for three steps, with its own process as the server. */
#include <damaris/damaris.h>
#include <damaris/version.h>
#include <stdio.h>

static int failed(const char* call, int code) {
  if (code < 0) fprintf(stderr, "%s: %d %s: %s\n", call, code, dc_strerror(code), dc_last_error());
  return code < 0;
}

int main(void) {
  double x[8];
  if (failed("initialize", dc_initialize("run.xml", 0))) return 1;
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 8; ++i) x[i] = 10.0 * step + i;
    if (failed("write", DC_WRITE("x", step, x)) || failed("end", dc_end_iteration(step))) return 1;
  }
  float wrong[8] = {0};
  if (DC_WRITE("x", 3, wrong) != DC_E_TYPE) return fprintf(stderr, "a float array must be refused\n"), 1;
  if (failed("finalize", dc_finalize())) return 1;
  printf("stored with damaris %s\n", DAMARIS_VERSION);
  return 0;
}
