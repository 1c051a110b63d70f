/* Cases of process.c: processes of which a part has left, a thread or the begin of a call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
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
