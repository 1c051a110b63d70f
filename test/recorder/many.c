/* Each rank writes to a file of its own again and again; in the middle something happens: recorded_many COUNT EVENT
 *   none
 *   ranks killed     every second rank kills itself after the last write
 *   server killed    the server of the recording, in the middle
 *   both killed      the server in the middle, and the process itself after the last write
 *   server stopped   from the middle to the last write
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#else
#define MPI_Barrier(comm) ((void)0)
#endif

/* Of the pool, see src/trace/pool.hpp. */
static int server(void) {
  int words[5] = {0};
  const char* const path = getenv("DAMARIS_RECORDING_POOL");
  const int pool = path != NULL ? open(path, O_RDONLY) : -1;
  if (pool < 0 || read(pool, words, sizeof words) != sizeof words) return 0; /* the same calls without a recording, or with one */
  close(pool);
  return words[4];
}

static void wait_for_death(int process) {
  char path[40], text[400] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  for (;;) {
    const int file = open(path, O_RDONLY);
    if (file < 0) return;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    const char* const state = strrchr(text, ')');
    if (state == NULL || state[2] == 'Z' || state[2] == 'X') return;
    usleep(1000);
  }
}

static void happen(const char* event, int rank, int process) {
  if (rank != 0 || process == 0) return;
  if (strcmp(event, "server stopped") == 0) kill(process, SIGSTOP);
  if (strcmp(event, "server killed") != 0 && strcmp(event, "both killed") != 0) return;
  kill(process, SIGKILL);
  wait_for_death(process);
}

int main(int count, char** words) {
  int rank = 0;
  char name[32];
  static const char bytes[100];
#ifdef WITH_MPI
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  if (count != 3) return 2;
  const long calls = atol(words[1]);
  const char* const event = words[2];
  const int process = server();
  snprintf(name, sizeof name, "written%d", rank);
  const int file = open(name, O_WRONLY | O_CREAT, 0600);
  for (long i = 0; i < calls; ++i) {
    if (i == calls / 2) MPI_Barrier(MPI_COMM_WORLD);
    if (i == calls / 2) happen(event, rank, process);
    if (i == calls / 2 || i % 1000 == 0) MPI_Barrier(MPI_COMM_WORLD);
    errno = 0;
    if (pwrite(file, bytes, 10 + (size_t)(rank + i) % 50, i % 1000 * 50) < 0 || errno != 0) return 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0 && strcmp(event, "ranks killed") == 0) kill(getpid(), SIGKILL);
  if (strcmp(event, "both killed") == 0) kill(getpid(), SIGKILL);
  if (rank == 0 && process != 0 && strcmp(event, "server stopped") == 0) kill(process, SIGCONT);
  close(file);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
