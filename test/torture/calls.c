/* What a line of a script does: the calls of the library, with values that both sides can compute, and what else a simulation does.
 * Used by the clients of the fault campaign, by one thread or by several of a team at a time.
 * Before it: client.c, which reads the script. After it: the library; what is wrong goes into the ledger at once ("! WHAT").
 */
#include "calls.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The books are the campaign's: only what Damaris writes is limited, so the limit is soft and lifted here. */
void note(const char* format, ...) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  va_list arguments;
  struct rlimit limit;
  pthread_mutex_lock(&mutex);
  getrlimit(RLIMIT_FSIZE, &limit);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit.rlim_max, limit.rlim_max});
  va_start(arguments, format);
  if (vdprintf(player.ledger, format, arguments) < 0) _exit(3);
  va_end(arguments);
  setrlimit(RLIMIT_FSIZE, &limit);
  pthread_mutex_unlock(&mutex);
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
  if (data == NULL) return DC_E_MEMORY;
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
    note("! element %" PRIu64 " is %.9g after the read, and not %.9g\n", i, is, should);
    return;
  }
}

static int do_read(const char* line) {
  const block_t block = parse_block(line);
  void *data = malloc(block.count * 8 + 1), *wanted = malloc(block.count * 8 + 1);
  if (data == NULL || wanted == NULL) return free(data), free(wanted), DC_E_MEMORY;
  fill(data, block.type, block.count, ~block.base);
  const int code = dc_read_block(block.variable, block.step, block.block, data);
  fill(wanted, block.type, block.count, code < DC_OK ? ~block.base : block.base);
  compare(&block, data, wanted, code < DC_OK ? 0 : block.percent / 100.0);
  free(data);
  free(wanted);
  return code;
}

/* A record: magic, phase, number, count of values, the first one; then the values. By one of the three ways to append. */
static int do_append(const char* line) {
  enum { kHead = 5 };
  uint32_t head[kHead] = {0x10C5};
  if (sscanf(line, "%*s %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &head[1], &head[2], &head[3], &head[4]) != 4)
    return DC_E_ARGUMENT;
  const uint64_t bytes = (uint64_t)head[3] * 4;
  dc_log_t* log = NULL;
  void* data = NULL;
  int code = dc_log("events", &log);
  if (code == DC_OK && head[2] % 3 == 0) {
    code = dc_append_alloc(log, sizeof head + bytes, &data);
    if (code != DC_OK) return code;
    memcpy(data, head, sizeof head);
    fill((char*)data + sizeof head, 'i', head[3], head[4]);
    return dc_append_publish(log, data, sizeof head + bytes, NULL);
  }
  if (code != DC_OK) return code;
  uint32_t* const record = malloc(sizeof head + bytes);
  if (record == NULL) return DC_E_MEMORY;
  memcpy(record, head, sizeof head);
  fill(record + kHead, 'i', head[3], head[4]);
  const dc_piece_t pieces[] = {{record, sizeof head}, {record + kHead, bytes}};
  code = head[2] % 3 == 1 ? dc_append_list(log, pieces, 2, NULL) : dc_append("events", record, sizeof head + bytes, NULL);
  free(record);
  return code;
}

static int do_init(void) {
#ifdef TORTURE_MPI
  MPI_Comm clients;
  return dc_mpi_initialize(player.config, MPI_COMM_WORLD, &clients, &player.is_client);
#else
  return dc_initialize(player.config, player.id);
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

/* Of the library and of a child: its calls must be refused, and its end must not be that of the client. */
static int try_calls(const char* variable, int64_t step) {
  const double values[8192] = {0};
  int64_t n = 1;
  const struct {
    const char* call;
    int code;
  } tried[] = {
      {"dc_write", dc_write(variable, step, values)},
      {"dc_end_iteration", dc_end_iteration(step + 1)},
      {"dc_set_shape", dc_set_shape(variable, 1, &n)},
      {"dc_flush", dc_flush(step, 0)},
      {"dc_finalize", dc_finalize()},
  };
  for (size_t k = 0; k < sizeof tried / sizeof *tried; ++k)
    if (tried[k].code >= DC_OK) dprintf(player.ledger, "! %s of a child returned %d\n", tried[k].call, tried[k].code);
  return DC_OK;
}

static void be_the_child(const char* how, const char* variable, int64_t step) {
  if (strcmp(how, "_exit") == 0) _exit(0);
  if (strcmp(how, "calls") == 0) try_calls(variable, step);
  exit(0);
}

static void wait_for_child(pid_t child) {
  const int64_t deadline = now_us() + 30000000;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && now_us() < deadline) usleep(200);
  if (ended == 0) {
    note("! a child does not end\n");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  } else if (status != SIGKILL && status != 0) /* the campaign kills it with this client */
    note("! a child ended with status %#x\n", (unsigned)status);
}

/* Of a command. The campaign may kill it with this client. */
static int has_run(int status) {
  const int is_killed = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL);
  return status == 0 || is_killed ? DC_OK : DC_E_MEMORY;
}

static int do_fork(const char* line) {
  char how[8] = "", variable[32] = "";
  int64_t step = 0;
  sscanf(line, "%*s %7s %31s %" SCNd64, how, variable, &step);
  if (strcmp(how, "system") == 0) return has_run(system("true"));
  if (strcmp(how, "popen") == 0) {
    FILE* pipe = popen("true", "r");
    return pipe == NULL ? DC_E_MEMORY : has_run(pclose(pipe));
  }
  const pid_t child = fork();
  if (child == 0) be_the_child(how, variable, step);
  if (child > 0) wait_for_child(child);
  return child > 0 ? DC_OK : DC_E_MEMORY;
}

static void be_interrupted(int number) { (void)number; }

/* As the timers and the signals of other libraries of a simulation. */
static int do_alarm(const char* line) {
  int number = 0, restart = 0;
  long us = 0;
  sscanf(line, "%*s %d %ld %d", &number, &us, &restart);
  struct sigaction handler = {.sa_handler = be_interrupted, .sa_flags = restart ? SA_RESTART : 0};
  struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
  const struct timespec every = {us / 1000000, us % 1000000 * 1000};
  const struct itimerspec when = {every, every};
  timer_t timer;
  if (sigaction(number, &handler, NULL) != 0 || timer_create(CLOCK_MONOTONIC, &how, &timer) != 0 ||
      timer_settime(timer, 0, &when, NULL) != 0)
    _exit(3);
  return DC_OK;
}

static int meet(void) {
  char path[64];
  snprintf(path, sizeof path, "%.20s.go", player.phase);
  for (const int64_t deadline = now_us() + 60000000; access(path, F_OK) != 0; usleep(200))
    if (now_us() > deadline) _exit(3);
  return DC_OK;
}

static int set_size(const char* variable, int64_t n) {
  char parameter[36];
  snprintf(parameter, sizeof parameter, "n_%s", variable);
  return dc_set_parameter(parameter, n);
}

int obey(const char* line) {
  char word[16] = "", name[32] = "";
  int64_t first = 0, second = 0;
  sscanf(line, "%15s", word);
  if (strcmp(word, "init") == 0) return do_init();
  if (strcmp(word, "write") == 0) return do_write(line);
  if (strcmp(word, "alloc") == 0) return do_alloc(line);
  if (strcmp(word, "read") == 0) return do_read(line);
  if (strcmp(word, "append") == 0) return do_append(line);
  if (strcmp(word, "finalize") == 0) return dc_finalize();
  if (strcmp(word, "fork") == 0) return do_fork(line);
  if (strcmp(word, "alarm") == 0) return do_alarm(line);
  if (strcmp(word, "meet") == 0) return meet();
  if (strcmp(word, "tell") == 0) return tell(), DC_OK;
  if (sscanf(line, "size %31s %" SCNd64, name, &first) == 2) return set_size(name, first);
  if (sscanf(line, "shape %31s %" SCNd64, name, &first) == 2) return dc_set_shape(name, 1, &first);
  if (sscanf(line, "place %31s %" SCNd64, name, &first) == 2) return dc_set_position(name, 1, &first);
  sscanf(line, "%*s %" SCNd64 " %" SCNd64, &first, &second);
  if (strcmp(word, "commit") == 0) return dc_log_commit("events", (int)first);
  if (strcmp(word, "end") == 0) return dc_end_iteration(first);
  if (strcmp(word, "flush") == 0) return dc_flush(first, (int)second);
  if (strcmp(word, "time") == 0) return dc_set_time(first, (double)second);
  if (strcmp(word, "sleep") == 0) return usleep((useconds_t)first), DC_OK;
  if (strcmp(word, "arm") == 0) return die_after(first), DC_OK;
  return DC_E_ARGUMENT;
}
