/* A simulation that keeps a ledger: it executes its script, and notes each call before and its result after it.
 * One process; attaches to a detached server or works in place, or, built with TORTURE_MPI, is one rank of an MPI job.
 * Before it: scenario.py writes PHASE.ID.script into the working folder. After it: check.py reads PHASE.ID.ledger, which holds
 * "> LINE" when the call of that line began and "= LINE CODE MICROSECONDS SENTENCE" when it had returned, also when it was killed; between
 * them "! WHAT" when a read has left other values in the array than it should, or a child could do what it may not.
 *
 *   init | shape VAR N | size VAR N (the parameter of its layout) | place VAR AT | write VAR STEP BLOCK TYPE N BASE | alloc (the same)
 *   time STEP T | end STEP | flush STEP MS | finalize
 *   read VAR STEP BLOCK TYPE N BASE PERCENT (the values may be off by so much) SOURCE (for the books)
 *   append PHASE NUMBER N BASE (a record of N values to the log) | commit MS
 *   team N ... join: lines that begin with "in K" are done by thread K of N new ones, the others by the thread that is always there
 *   fork HOW VAR STEP (a child that ends by `exit` or `_exit`, calls and then exits, or one of `system` or `popen`)
 *   alarm SIGNAL US RESTART (a handler, and a timer that interrupts again and again)
 *   sleep US | tell (the runner, through the pipe "trigger") | arm US (SIGKILL itself then, wherever it is)
 *   meet (waits until the runner has made PHASE.go)
 * Element i of an array is (BASE + i * 40503) modulo 2^24, which every type holds exactly.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

enum { kMostThreads = 8 };

player_t player = {.is_client = 1};
static char** lines;
static int line_count;
static atomic_int lost;

static int starts(const char* line, const char* word) { return strncmp(line, word, strlen(word)) == 0; }

/* The whole script at once: a child that exits would move an open file's place. */
static int read_script(const char* path) {
  FILE* script = fopen(path, "re");
  if (script == NULL) return 0;
  char line[256];
  while (fgets(line, sizeof line, script) != NULL) {
    lines = realloc(lines, sizeof *lines * (size_t)(line_count + 1));
    lines[line_count++] = strdup(line);
  }
  fclose(script);
  return 1;
}

/* A client whose server is gone writes nothing more: it finalizes. Returns whether to go on. */
static int follow_line(int number, const char* line) {
  if (lost && !starts(line, "finalize")) return 1;
  note("> %d\n", number);
  const int64_t began = now_us();
  const int code = obey(line);
  const int64_t took = now_us() - began;  // the sentence may be long: it names all steps that failed
  note("= %d %d %" PRId64 " %s\n", number, code, took, code < 0 ? dc_last_error() : "");
  if (code < 0 && starts(line, "init")) return 0;
  if (code == DC_E_SERVER_LOST) lost = 1;
  return player.is_client;
}

static const char* of_thread(const char* line, int* thread) {
  int words = 0;
  return sscanf(line, "in %d %n", thread, &words) == 1 ? line + words : NULL;
}

typedef struct {
  int thread, first, last;
} part_t;

static void* follow_part(void* argument) {
  const part_t* part = argument;
  for (int number = part->first, thread; number < part->last; ++number) {
    const char* line = of_thread(lines[number], &thread);
    if (line != NULL && thread == part->thread) follow_line(number, line);
  }
  return NULL;
}

/* The lines after `team` until `join`: by threads that come now and go then, and by this one. Returns the number of `join`. */
static int follow_team(int number) {
  int count = 0, last = number + 1, ignored;
  sscanf(lines[number], "team %d", &count);
  while (last < line_count && !starts(lines[last], "join")) ++last;
  pthread_t threads[kMostThreads];
  part_t parts[kMostThreads];
  for (int k = 0; k < count; ++k) {
    parts[k] = (part_t){k, number + 1, last};
    if (pthread_create(&threads[k], NULL, follow_part, &parts[k]) != 0) _exit(3);
  }
  for (int k = number + 1; k < last; ++k)
    if (of_thread(lines[k], &ignored) == NULL) follow_line(k, lines[k]);
  for (int k = 0; k < count; ++k) pthread_join(threads[k], NULL);
  return last;
}

static void follow(void) {
  for (int number = 0; number < line_count; ++number) {
    if (starts(lines[number], "team"))
      number = follow_team(number);
    else if (!follow_line(number, lines[number]))
      return;
  }
}

int main(int argc, char** argv) {
  char path[64];
  if (argc < 4) return 2;
  player.config = argv[1];
  player.phase = argv[2];
  int rank = 0;
#ifdef TORTURE_MPI
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  if (rank + 3 >= argc) return 2;
  const char* name = argv[rank + 3]; /* of this process's script: a client's id, or s0 and so on of a server's rank */
  player.id = name[0] == 's' ? -1 : atoi(name);
  snprintf(path, sizeof path, "%.20s.%.20s.ledger", player.phase, name);
  player.ledger = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  snprintf(path, sizeof path, "%.20s.%.20s.script", player.phase, name);
  if (player.ledger < 0 || !read_script(path)) return 2;
  follow();
  note(".\n");
#ifdef TORTURE_MPI
  MPI_Finalize();
#endif
  return 0;
}
