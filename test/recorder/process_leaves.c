/* Cases of process.c: processes of which a part has left, a thread or the begin of a call. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process.h"

static pid_t forked_inside = -1;

static ssize_t forks(void* nothing, const char* text, size_t count) {
  (void)nothing, (void)text;
  if (forked_inside < 0) forked_inside = fork();
  return (ssize_t)count;
}

/* The child returns from a call that it has not begun. */
int forks_inside(void) {
  FILE* const stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = forks});
  write_file("before", 10);
  fputs("text", stream);
  fflush(stream);
  if (forked_inside != 0) return wait_for(forked_inside);
  const int file = open_new("child");
  for (int i = 0; i < 10; ++i) {
    usleep(60000); /* the server of a pool looks for the dead meanwhile */
    put(file, 5);
  }
  _exit(0);
}

static void* writes_later(void* nothing) {
  (void)nothing;
  const int file = open_new("after");
  for (int i = 0; i < 200; ++i) {
    if (i % 20 == 0) usleep(60000); /* the server of a pool looks for the dead meanwhile */
    put(file, 5);
  }
  close(file);
  return NULL;
}

/* For /proc the process is a zombie from then on. */
int first_thread_leaves(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, writes_later, NULL);
  pthread_exit(NULL);
}

static void* writes_much(void* nothing) {
  const int file = open_new("much");
  for (int i = 0; i < 75000; ++i) put(file, 1);
  close(file);
  return nothing;
}

/* The server of the recording dies, see src/trace/pool.hpp, and threads fill its pool. */
int server_leaves(void) {
  int words[5] = {0};
  pthread_t threads[5];
  const char* const path = getenv("DAMARIS_RECORDING_POOL");
  const int pool = path != NULL ? open(path, O_RDONLY) : -1;
  if (pool >= 0 && read(pool, words, sizeof words) == sizeof words) kill(words[4], SIGKILL);
  usleep(300000);
  for (int i = 0; i < 5; ++i) pthread_create(&threads[i], NULL, writes_much, NULL);
  for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
  return 0;
}
