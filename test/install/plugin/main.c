/* Sends the event that the outside plugin acts on. */
#include <damaris/damaris.h>
#include <stdio.h>

static int failed(const char* call, int code) {
  if (code < 0) fprintf(stderr, "%s: %d %s: %s\n", call, code, dc_strerror(code), dc_last_error());
  return code < 0;
}

int main(void) {
  double x[8] = {42.0};
  if (failed("initialize", dc_initialize("run.xml", 0)) || failed("write", DC_WRITE("x", 7, x)) ||
      failed("signal", dc_signal("count", 7)) || failed("end", dc_end_iteration(7)) || failed("finalize", dc_finalize()))
    return 1;
  return 0;
}
