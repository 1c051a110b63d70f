/* A known number of writes of one kind, for a tool that counts instructions. Public interface only.
 * Used by: counts.py, which runs it in valgrind, and its server outside.
 * Before it: an XML with variables v0, v1, ... of 64 bytes. After it: what was counted after warmed_up().
 */
#include <damaris/damaris.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWarmUpSteps = 2, kFlushMs = 60000, kMostVariables = 64, kNameBytes = 16 };

typedef struct {
  char names[kMostVariables][kNameBytes];
  dc_variable_t* handles[kMostVariables];
} Variables;

typedef int (*Write)(const Variables* variables, int variable, int64_t step, const void* data);

static int write_to(const Variables* variables, int variable, int64_t step, const void* data) {
  return dc_write_to(variables->handles[variable], step, data);
}

static int write_by_name(const Variables* variables, int variable, int64_t step, const void* data) {
  return dc_write(variables->names[variable], step, data);
}

static int alloc_and_commit(const Variables* variables, int variable, int64_t step, const void* data) {
  void* block;
  const int code = dc_alloc(variables->names[variable], step, 0, &block);
  if (code != DC_OK) return code;
  memcpy(block, data, 64);
  return dc_commit(variables->names[variable], step, 0);
}

static Write kind_of(const char* name) {
  if (strcmp(name, "write_to") == 0) return write_to;
  if (strcmp(name, "write") == 0) return write_by_name;
  if (strcmp(name, "alloc_commit") == 0) return alloc_and_commit;
  return NULL;
}

static int look_up(Variables* variables, int count) {
  for (int i = 0; i < count; ++i) {
    snprintf(variables->names[i], kNameBytes, "v%d", i);
    const int code = dc_variable(variables->names[i], &variables->handles[i]);
    if (code != DC_OK) return code;
  }
  return DC_OK;
}

/* Each step finds the buffer empty: what a write has to look through is the same each time, however late the server comes. */
static int write_steps(Write write, const Variables* variables, int first, int end, int writes) {
  const double data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int step = first; step < end; ++step) {
    int code = DC_OK;
    for (int i = 0; i < writes && code == DC_OK; ++i) code = write(variables, i, step, data);
    if (code == DC_OK) code = dc_end_iteration(step);
    if (code == DC_OK) code = dc_flush(step, kFlushMs);
    if (code != DC_OK) return code;
  }
  return DC_OK;
}

/* Named to the counting tool, which forgets here what it has counted. */
__attribute__((noinline)) void warmed_up(void) { __asm__ volatile(""); }

static int run(const char* config, Write write, int steps, int writes) {
  static Variables
      variables; /* not on the stack, whose place follows the environment: how far a string is from a page's end counts */
  int code = dc_initialize(config, 0);
  if (code != DC_OK) return code;
  code = look_up(&variables, writes);
  if (code == DC_OK) code = write_steps(write, &variables, 0, kWarmUpSteps, writes);
  warmed_up();
  if (code == DC_OK) code = write_steps(write, &variables, kWarmUpSteps, kWarmUpSteps + steps, writes);
  return code == DC_OK ? dc_finalize() : code;
}

/* The second client, without which there is no pool: it comes and goes. */
static int come_and_go(const char* config) {
  const int code = dc_initialize(config, 1);
  return code == DC_OK ? dc_finalize() : code;
}

static int usage(void) {
  fprintf(stderr,
          "usage: hot_path CONFIG write_to|write|alloc_commit STEPS WRITES   at most %d writes a step\n"
          "       hot_path CONFIG come_and_go                                as client 1\n",
          kMostVariables);
  return 2;
}

int main(int argc, char** argv) {
  int code;
  if (argc == 3 && strcmp(argv[2], "come_and_go") == 0) {
    code = come_and_go(argv[1]);
  } else {
    const Write write = argc == 5 ? kind_of(argv[2]) : NULL;
    const int steps = argc == 5 ? atoi(argv[3]) : 0, writes = argc == 5 ? atoi(argv[4]) : 0;
    if (write == NULL || steps < 1 || writes < 1 || writes > kMostVariables) return usage();
    code = run(argv[1], write, steps, writes);
  }
  if (code != DC_OK) fprintf(stderr, "hot_path: %s: %s\n", dc_strerror(code), dc_last_error());
  return code == DC_OK ? 0 : 1;
}
