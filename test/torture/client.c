/* A simulation that keeps books: it does what its script says, and notes before and after each call what it was told.
 * One process; attaches to a detached server or works in place, or, built with TORTURE_MPI, is one rank of an MPI job.
 * Before it: scenario.py writes PHASE.ID.script into the working folder. After it: check.py reads PHASE.ID.ledger, which holds
 * "> LINE" when the call of that line began and "= LINE CODE MICROSECONDS SENTENCE" when it had returned, also when it was killed; between
 * them "! WHAT" when a read has left other values in the array than it should.
 *
 *   init | shape VAR N | place VAR AT | write VAR STEP BLOCK TYPE N BASE | alloc (the same) | time STEP T | end STEP | flush STEP MS
 *   read VAR STEP BLOCK TYPE N BASE PERCENT (the values may be off by so much) SOURCE (for the books)
 *   finalize | sleep US | tell (the runner, through the pipe "trigger") | arm US (SIGKILL itself then, wherever it is)
 *   meet (waits until the runner has made PHASE.go)
 * Element i of an array is (BASE + i * 40503) modulo 2^24, which every type holds exactly.
 */
#ifdef TORTURE_MPI
#include <damaris/damaris_mpi.h>
#else
#include <damaris/damaris.h>
#endif

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *config, *phase;
static int id, ledger, is_client = 1;

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void note(const char* text) {
  if (write(ledger, text, strlen(text)) < 0) _exit(3);
}

static void fill(void* data, char type, uint64_t count, uint32_t base) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t value = (base + (uint32_t)i * 40503u) & 0xffffffu;
    if (type == 'd') ((double*)data)[i] = value;
    if (type == 'f') ((float*)data)[i] = (float)value;
    if (type == 'i') ((int32_t*)data)[i] = (int32_t)value;
  }
}

/* The words of a line that hands data over. */
typedef struct {
  char variable[32], type;
  int64_t step;
  int block;
  uint64_t count;
  uint32_t base;
  int percent;
} block_t;

static block_t parse_block(const char* line) {
  block_t block = {0};
  sscanf(line, "%*s %31s %" SCNd64 " %d %c %" SCNu64 " %" SCNu32 " %d", block.variable, &block.step, &block.block, &block.type,
         &block.count, &block.base, &block.percent);
  return block;
}

static int do_write(const char* line) {
  const block_t block = parse_block(line);
  void* data = malloc(block.count * 8 + 1);
  fill(data, block.type, block.count, block.base);
  const int code = dc_write_block(block.variable, block.step, block.block, data);
  free(data);
  return code;
}

static int do_alloc(const char* line) {
  const block_t block = parse_block(line);
  void* data = NULL;
  const int code = dc_alloc(block.variable, block.step, block.block, &data);
  if (code < DC_OK) return code;
  fill(data, block.type, block.count, block.base);
  return dc_commit(block.variable, block.step, block.block);
}

static double at(const void* data, char type, uint64_t i) {
  if (type == 'd') return ((const double*)data)[i];
  return type == 'f' ? ((const float*)data)[i] : ((const int32_t*)data)[i];
}

/* After an error the array is as it was. */
static void compare(const block_t* block, const void* data, const void* wanted, double tolerance) {
  for (uint64_t i = 0; i < block->count; ++i) {
    const double is = at(data, block->type, i), should = at(wanted, block->type, i);
    const double off = is > should ? is - should : should - is;
    if (off <= tolerance * should) continue;
    if (dprintf(ledger, "! element %" PRIu64 " is %.9g after the read, and not %.9g\n", i, is, should) < 0) _exit(3);
    return;
  }
}

static int do_read(const char* line) {
  const block_t block = parse_block(line);
  void *data = malloc(block.count * 8 + 1), *wanted = malloc(block.count * 8 + 1);
  fill(data, block.type, block.count, ~block.base);
  const int code = dc_read_block(block.variable, block.step, block.block, data);
  fill(wanted, block.type, block.count, code < DC_OK ? ~block.base : block.base);
  compare(&block, data, wanted, code < DC_OK ? 0 : block.percent / 100.0);
  free(data);
  free(wanted);
  return code;
}

static int do_init(void) {
#ifdef TORTURE_MPI
  MPI_Comm clients;
  return dc_mpi_initialize(config, MPI_COMM_WORLD, &clients, &is_client);
#else
  return dc_initialize(config, id);
#endif
}

static void tell(void) {
  const int pipe = open("trigger", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (pipe >= 0 && write(pipe, "x", 1) < 0) note("! nobody reads the trigger\n");
  if (pipe >= 0) close(pipe);
}

static void die_after(int64_t us) {
  if (us == 0) kill(getpid(), SIGKILL);
  struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  const struct itimerspec when = {.it_value = {us / 1000000, us % 1000000 * 1000}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &how, &timer) != 0 || timer_settime(timer, 0, &when, NULL) != 0) _exit(3);
}

static int meet(void) {
  char path[64];
  snprintf(path, sizeof path, "%.20s.go", phase);
  for (const int64_t deadline = now_us() + 60000000; access(path, F_OK) != 0; usleep(200))
    if (now_us() > deadline) _exit(3);
  return DC_OK;
}

static int obey(const char* line) {
  char word[16] = "", name[32] = "";
  int64_t first = 0, second = 0;
  sscanf(line, "%15s", word);
  if (strcmp(word, "init") == 0) return do_init();
  if (strcmp(word, "write") == 0) return do_write(line);
  if (strcmp(word, "alloc") == 0) return do_alloc(line);
  if (strcmp(word, "read") == 0) return do_read(line);
  if (strcmp(word, "finalize") == 0) return dc_finalize();
  if (strcmp(word, "meet") == 0) return meet();
  if (strcmp(word, "tell") == 0) return tell(), DC_OK;
  if (sscanf(line, "shape %31s %" SCNd64, name, &first) == 2) return dc_set_shape(name, 1, &first);
  if (sscanf(line, "place %31s %" SCNd64, name, &first) == 2) return dc_set_position(name, 1, &first);
  sscanf(line, "%*s %" SCNd64 " %" SCNd64, &first, &second);
  if (strcmp(word, "end") == 0) return dc_end_iteration(first);
  if (strcmp(word, "flush") == 0) return dc_flush(first, (int)second);
  if (strcmp(word, "time") == 0) return dc_set_time(first, (double)second);
  if (strcmp(word, "sleep") == 0) return usleep((useconds_t)first), DC_OK;
  if (strcmp(word, "arm") == 0) return die_after(first), DC_OK;
  return DC_E_ARGUMENT;
}

/* A client whose server is gone writes nothing more: it finalizes. */
static void follow(FILE* script) {
  char line[256], text[64];
  int lost = 0;
  for (int number = 0; is_client && fgets(line, sizeof line, script) != NULL; ++number) {
    if (lost && strncmp(line, "finalize", 8) != 0) continue;
    snprintf(text, sizeof text, "> %d\n", number);
    note(text);
    const int64_t began = now_us();
    const int code = obey(line);
    const int64_t took = now_us() - began;  // the sentence may be long: it names all steps that failed
    if (dprintf(ledger, "= %d %d %" PRId64 " %s\n", number, code, took, code < 0 ? dc_last_error() : "") < 0) _exit(3);
    if (code < 0 && strncmp(line, "init", 4) == 0) return;
    lost |= code == DC_E_SERVER_LOST;
  }
}

int main(int argc, char** argv) {
  char path[64];
  if (argc < 3) return 2;
  config = argv[1];
  phase = argv[2];
#ifdef TORTURE_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &id);
#else
  id = argc > 3 ? atoi(argv[3]) : 0;
#endif
  snprintf(path, sizeof path, "%.20s.%d.ledger", phase, id);
  ledger = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  snprintf(path, sizeof path, "%.20s.%d.script", phase, id);
  FILE* script = fopen(path, "re");
  if (ledger < 0 || script == NULL) return 2;
  follow(script);
  fclose(script);
  note(".\n");
#ifdef TORTURE_MPI
  MPI_Finalize();
#endif
  return 0;
}
