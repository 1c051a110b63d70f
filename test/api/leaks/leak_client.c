/* A client that uses every kind of call, for valgrind: argument 1 is the XML. */
#include <damaris/damaris.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "leak_client: %s\n", dc_last_error());
  exit(1);
}

static void one_step(dc_variable_t* handle, int step) {
  const int line[6] = {1, 2, 3, 4, 5, 6};
  const int64_t half[1] = {3};
  const ptrdiff_t strides[1] = {2 * sizeof(int)};
  void* place = NULL;
  must(dc_set_parameter("n", 6));
  must(dc_write_to(handle, step, line));
  must(dc_write_block("line", step, 1, line));
  must(dc_set_shape("line", 1, half));
  must(dc_write_typed("line", step, 2, DC_INT32, line, 1, half, strides));
  must(dc_set_shape("line", 0, NULL));
  must(dc_alloc("line", step, 3, &place));
  for (int i = 0; i < 6; ++i) ((int*)place)[i] = i;
  must(dc_commit("line", step, 3));
  must(dc_set_time(step, 0.5 * step));
  must(dc_signal("tick", step));
  must(dc_end_iteration(step));
  must(dc_flush(step, 20000));
}

int main(int argc, char** argv) {
  dc_variable_t* handle = NULL;
  dc_status_t status;
  if (argc != 2) return 2;
  must(dc_initialize(argv[1], 0));
  must(dc_variable("line", &handle));
  for (int step = 0; step < 3; ++step) one_step(handle, step);
  if (dc_write("no such variable", 3, &status) != DC_E_UNKNOWN_NAME) return 1; /* errors must not leak either */
  must(dc_status(&status));
  must(dc_finalize());
  return status.last_durable == 2 ? 0 : 1;
}
