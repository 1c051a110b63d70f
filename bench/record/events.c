/* Events of many ranks, and the times of their processes, for bench_log.py.
 * damaris_bench_events run FILE WORD...       starts WORD... and appends to FILE.RANK, in ns: when, and when its end was seen
 * damaris_bench_events make FILE COUNT PARTS  COUNT reads in PARTS with a barrier behind each; appends: when main began and ended
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1000000000LL * time.tv_sec + time.tv_nsec;
}

static const char* rank_of(void) {
  const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
  for (int i = 0; i < 2; ++i)
    if (getenv(names[i]) != NULL) return getenv(names[i]);
  return "0";
}

static void tell(const char* start, const char* what, long long first, long long second) {
  char name[4096], text[100];
  snprintf(name, sizeof name, "%s.%s", start, rank_of());
  const int length = snprintf(text, sizeof text, "%s %lld %lld\n", what, first, second);
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || write(file, text, (size_t)length) != length) exit(3);
  close(file);
}

static int run(char** words) {
  int status = 0;
  const long long begin = now();
  const pid_t child = fork();
  if (child == 0) {
    execvp(words[3], words + 3);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 3;
  tell(words[2], "process", begin, now());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int make(int count, char** words) {
  char byte;
  const long long begin = now();
  MPI_Init(&count, &words);
  const long events = atol(words[3]), parts = atol(words[4]);
  const int file = open("/proc/self/exe", O_RDONLY);
  MPI_Barrier(MPI_COMM_WORLD);
  const long long first = now();
  for (long i = 0; i < events; ++i) {
    if (pread(file, &byte, 1, i % 4096) < 0) return 3;
    if (i % (events / parts) == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const long long last = now();
  close(file);
  MPI_Finalize();
  tell(words[2], "events", first, last);
  tell(words[2], "main", begin, now());
  return 0;
}

int main(int count, char** words) {
  if (count > 3 && strcmp(words[1], "run") == 0) return run(words);
  return count == 5 ? make(count, words) : 2;
}
