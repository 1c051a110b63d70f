/* A client under remote control: reads a command per line from its input and answers "<code> <sentence>".
 * Runs as a process of its own, started by the detached tests (or by mpirun with the rank as its id), without MPI.
 * Before it: a test writes "init 0", "write 3", "end 3", ... After it: the test reads code and sentence.
 *
 *   init ID | write STEP [BLOCK] | alloc STEP COUNT | read STEP | end STEP | flush STEP MS | signal NAME STEP | status | fork | finalize | quit
 * "write" writes the variable x: 16 doubles of the value STEP. "fill STEP" writes blocks until one is refused and answers for that.
 * "fork" makes a child that lives until nobody is left who could write a command.
 * With a file name as second argument it listens to nobody: it attaches with its rank in the launcher's job as its id, stores step 0,
 * begins step 1, writes its process id to FILE.RANK and waits to be killed.
 */
#include <damaris/damaris.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_block(int64_t step, int block) {
  double data[16];
  for (int i = 0; i < 16; ++i) data[i] = (double)step;
  return dc_write_block("x", step, block, data);
}

static int alloc_blocks(int64_t step, int count) {
  void* data;
  int code = DC_OK;
  for (int block = 0; code == DC_OK && block < count; ++block) code = dc_alloc("x", step, block, &data);
  return code;
}

static int fill(int64_t step) {
  int code = DC_OK;
  for (int block = 0; code == DC_OK; ++block) code = write_block(step, block);
  return code;
}

/* What the recorder plugin gives: every byte is the low byte of the step. */
static int read_back(int64_t step) {
  unsigned char data[16 * sizeof(double)];
  const int code = dc_read("x", step, data);
  for (size_t i = 0; code == DC_OK && i < sizeof data; ++i)
    if (data[i] != (unsigned char)step) return DC_E_INTERNAL;
  return code;
}

static int leave_child(void) {
  struct pollfd end_of_input = {0, 0, 0};
  const pid_t child = fork();
  if (child == 0) _exit(poll(&end_of_input, 1, -1) == 1 ? 0 : 1);
  return child > 0 ? DC_OK : DC_E_INTERNAL;
}

static int obey(const char* config, const char* line) {
  char word[64] = "", name[64] = "";
  int64_t step = 0;
  int number = 0;
  dc_status_t status;
  if (sscanf(line, "%63s", word) != 1) return DC_E_ARGUMENT;
  if (strcmp(word, "signal") == 0)
    return sscanf(line, "%*s %63s %" SCNd64, name, &step) == 2 ? dc_signal(name, step) : DC_E_ARGUMENT;
  sscanf(line, "%*s %" SCNd64 " %d", &step, &number);
  if (strcmp(word, "init") == 0) return dc_initialize(config, (int)step);
  if (strcmp(word, "write") == 0) return write_block(step, number);
  if (strcmp(word, "alloc") == 0) return alloc_blocks(step, number);
  if (strcmp(word, "read") == 0) return read_back(step);
  if (strcmp(word, "fill") == 0) return fill(step);
  if (strcmp(word, "end") == 0) return dc_end_iteration(step);
  if (strcmp(word, "flush") == 0) return dc_flush(step, number);
  if (strcmp(word, "status") == 0) return dc_status(&status);
  if (strcmp(word, "fork") == 0) return leave_child();
  if (strcmp(word, "finalize") == 0) return dc_finalize();
  return DC_E_ARGUMENT;
}

static int rank_in_job(void) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  return rank == NULL ? -1 : atoi(rank);
}

static int wait_to_be_killed(const char* config, const char* file) {
  char path[4096], ready[4096];
  const int rank = rank_in_job();
  if (dc_initialize(config, rank) != DC_OK || write_block(0, 0) != DC_OK || dc_end_iteration(0) != DC_OK ||
      dc_flush(0, 60000) != DC_OK || write_block(1, 0) != DC_OK) {
    fprintf(stderr, "client %d: %s\n", rank, dc_last_error());
    return 1;
  }
  snprintf(path, sizeof path, "%s.%d.tmp", file, rank);
  snprintf(ready, sizeof ready, "%s.%d", file, rank);
  FILE* out = fopen(path, "w");
  if (out == NULL || fprintf(out, "%d\n", (int)getpid()) < 0 || fclose(out) != 0 || rename(path, ready) != 0) return 1;
  for (;;) pause();
}

int main(int argc, char** argv) {
  char line[256];
  if (argc == 3) return wait_to_be_killed(argv[1], argv[2]);
  if (argc != 2) return 2;
  while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
    const int code = obey(argv[1], line);
    printf("%d %s\n", code, code == DC_OK ? "" : dc_last_error());
    fflush(stdout);
  }
  return 0;
}
