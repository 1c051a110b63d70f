/* One client of a soak: soak_client XML ID STOP PAUSE. Steps until the file STOP is there, with PAUSE microseconds between two: blocks of
 * changing sizes, copied and in place, one that is cancelled, a signal, status, a flush now and then. Prints the number of its steps.
 * Used by: soak.py.
 * Before it: soak.py, which makes the XML. After it: what the server has stored, and how much memory it took all the time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <damaris/damaris.h>

enum { kMost = 512, kBlocks = 4, kFlushEvery = 64, kTimeout = 600000 };

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "soak: %s\n", dc_last_error());
  exit(1);
}

static void write_blocks(int64_t step, int id) {
  static double values[kMost];
  for (int block = 0; block < kBlocks; ++block) {
    const int64_t length = (step * 7919 + block * 104729 + id * 31) % kMost + 1;
    must(dc_set_shape("cloud", 1, &length));
    for (int64_t i = 0; i < length; ++i) values[i] = (double)(step + i);
    must(dc_write_block("cloud", step, block, values));
  }
}

static void write_in_place(int64_t step) {
  void* data;
  must(dc_alloc("wave", step, 0, &data));
  for (int i = 0; i < kMost; ++i) ((double*)data)[i] = (double)step;
  must(dc_commit("wave", step, 0));
  must(dc_alloc("wave", step, 1, &data)); /* never committed: cancelled when the step ends */
}

static void end(int64_t step) {
  const int code = dc_end_iteration(step);
  if (code != DC_E_NOT_COMMITTED) must(code);
}

int main(int argc, char** argv) {
  dc_status_t status;
  int64_t step = 0;
  if (argc != 5) return 2;
  const int id = atoi(argv[2]);
  const useconds_t pause = (useconds_t)atoi(argv[4]);
  must(dc_initialize(argv[1], id));
  for (; access(argv[3], F_OK) != 0; ++step) {
    write_blocks(step, id);
    write_in_place(step);
    must(dc_signal("look", step));
    end(step);
    must(dc_status(&status));
    if (pause > 0) usleep(pause);
    if (step % kFlushEvery == 0) {
      const int code = dc_flush(step, kTimeout);
      if (code != DC_E_NOT_COMMITTED) must(code);
    }
  }
  must(dc_finalize());
  printf("%" PRId64 "\n", step);
  return 0;
}
