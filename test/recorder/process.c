/* What processes do besides calls: children, descriptors that are closed, threads, and every way to end. recorded_process CASE writes files
 * whose sizes test_process.py knows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

extern char** environ;
static char* self;
static const char bytes[1000];

void fail(const char* what) {
  perror(what);
  exit(99);
}

int open_new(const char* name) {
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) fail(name);
  return file;
}

void put(int file, size_t count) {
  if (write(file, bytes, count) != (ssize_t)count) fail("write");
}

void write_file(const char* name, size_t count) {
  const int file = open_new(name);
  put(file, count);
  close(file);
}

static void write_often(const char* name, int calls) {
  const int file = open_new(name);
  for (int i = 0; i < calls; ++i)
    if (pwrite(file, bytes, 3, 3 * i) != 3) fail("pwrite");
  close(file);
}

int wait_for(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) fail("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* The child goes on with descriptors and streams of its parent, and ends each way that a child can. */
static int forked(void) {
  const int shared = open_new("shared");
  put(shared, 10);
  for (int way = 0; way < 3; ++way) {
    const pid_t child = fork();
    if (child == 0) {
      put(shared, 100);
      write_file(way == 0 ? "child0" : way == 1 ? "child1" : "child2", 200);
      if (way == 0) exit(0);
      if (way == 1) _exit(0);
      kill(getpid(), SIGKILL);
    }
    if (wait_for(child) != (way == 2 ? 98 : 0)) return 1;
  }
  put(shared, 1);
  return 0;
}

static int executed(void) {
  write_file("before", 10);
  execl(self, self, "writes", "after", NULL);
  return 1;
}

static int started(void) {
  const pid_t child = vfork();
  if (child == 0) {
    execl(self, self, "writes", "vforked", NULL);
    _exit(1);
  }
  if (wait_for(child) != 0) return 1;
  pid_t spawned = 0;
  char* const words[] = {self, "writes", "spawned", NULL};
  if (posix_spawn(&spawned, self, NULL, NULL, words, environ) != 0 || wait_for(spawned) != 0) return 2;
  /* What is between vfork and exec in a child must not be taken for the parent's. */
  write_file("parent", 30);
  FILE* pipe = popen("cat >piped", "w");
  if (pipe == NULL || fputs("12345", pipe) < 0 || pclose(pipe) != 0) return 3;
  return system("echo abc >by_shell; exit 7") == 7 << 8 ? 0 : 4;
}

/* Programs that record nothing take its place. */
static int becomes_another(void) {
  write_file("before", 10);
  execl("/bin/true", "true", NULL);
  return 1;
}
static int becomes_another_unrecorded(void) {
  char* const nothing[] = {NULL};
  write_file("before", 10);
  execle(self, self, "writes", "unseen", NULL, nothing);
  return 1;
}
static int stays_itself(void) {
  write_file("before", 10);
  execl("/no/such/program", "program", NULL);
  write_file("after", 20);
  return 0;
}

/* The child has its parent's memory: the reason reaches the parent, and the end is not the parent's. */
static int fails_to_start(void) {
  volatile int reason = 0;
  const pid_t child = vfork();
  if (child == 0) {
    execl("/no/such/program", "program", NULL);
    reason = errno;
    _exit(3);
  }
  if (wait_for(child) != 3 || reason != ENOENT) return 1;
  write_file("parent", 30);
  return 0;
}

/* Each name of a file moves the one offset. */
static int moves_offsets(void) {
  const int file = open_new("copied"), copy = fcntl(file, F_DUPFD, 50), other = fcntl(copy, F_DUPFD_CLOEXEC, 60);
  put(file, 10), put(copy, 20), put(other, 30), put(file, 40);
  FILE* const stream = fopen("streamed", "w+");
  fpos_t place;
  fwrite(bytes, 1, 10, stream);
  fgetpos(stream, &place);
  fwrite(bytes, 1, 20, stream);
  rewind(stream);
  fwrite(bytes, 1, 5, stream);
  fsetpos(stream, &place);
  fwrite(bytes, 1, 7, stream);
  return fclose(stream);
}

/* A file gets a number that was a pipe's. */
static int copies_behind_pipe(void) {
  const int file = open_new("copied");
  FILE* const pipe = popen("cat >/dev/null", "w");
  const int number = fileno(pipe);
  if (fputs("x", pipe) < 0 || pclose(pipe) != 0 || fcntl(file, F_DUPFD, number) != number) return 1;
  put(number, 1000);
  return 0;
}

/* The first I/O of the process is with descriptor 0. */
static int without_standard(void) {
  close(0), close(1), close(2);
  const int file = open("zero", O_WRONLY | O_CREAT, 0600);
  if (file != 0) return 1;
  if (write(file, bytes, 500) != 500) return 2;
  FILE* const stream = fopen("one", "w");
  if (stream == NULL || fileno(stream) != 1 || fwrite(bytes, 1, 600, stream) != 600 || fclose(stream) != 0) return 3;
  return open("one", O_RDONLY) == 1 && open("one", O_RDONLY) == 2 ? 0 : 4;
}

/* Then opens so many that it has numbers which the recorder may have used, all but one. */
static int without_descriptors(void) {
  const struct rlimit few = {256, 256};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
  write_often("before", 10);
  for (int i = 3; i < 1024; ++i) close(i);
  int last = -1;
  for (int i = open_new("opened"); i >= 0; i = dup(i)) last = i;
  for (int i = 3; i <= last; i += 7) put(i, 1);
  close(100);
  for (int i = 0; i < 100000; ++i)
    if (pwrite(last, bytes, 3, 3 * i) != 3) return 2;
  return last == 255 ? 0 : 3;
}

static int closed_range(void) {
  write_often("before", 10);
  closefrom(3);
  write_often("after", 100000);
  return 0;
}

static void* of_thread(void* number) {
  char name[32];
  snprintf(name, sizeof name, "thread%d", (int)(size_t)number);
  write_often(name, 1000);
  return NULL;
}

static int threaded(void) {
  pthread_t threads[8];
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, of_thread, (void*)i);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  }
  write_file("main", 5);
  return 0;
}

/* The first one is the main thread. */
static int second_thread(void) {
  pthread_t thread;
  write_file("main", 5);
  pthread_create(&thread, NULL, of_thread, (void*)0);
  return pthread_join(thread, NULL);
}

/* Its stream's buffer never reaches the file. */
static int killed(void) {
  write_often("posix", 50000);
  FILE* const stream = fopen("stdio", "w");
  for (int i = 0; i < 3000; ++i) fwrite(bytes, 1, 10, stream);
  kill(getpid(), SIGKILL);
  return 1;
}

static int ends_at_once(void) {
  write_file("written", 40);
  _exit(3);
}

static int aborts(void) {
  write_file("written", 50);
  abort();
}

/* A stream whose bytes go through a function of the program, which may leave it. */
static jmp_buf outside;
static int how_to_leave;
static ssize_t leave(void* file, const char* text, size_t count) {
  (void)text;
  put(*(int*)file, count);
  if (how_to_leave == 1) exit(4);
  if (how_to_leave == 2) longjmp(outside, 1);
  return (ssize_t)count;
}

static int leaves(int how) {
  int file = open_new("inside");
  const cookie_io_functions_t functions = {.write = leave};
  FILE* const stream = fopencookie(&file, "w", functions);
  setvbuf(stream, NULL, _IONBF, 0);
  fwrite(bytes, 1, 11, stream);
  how_to_leave = how;
  for (int i = 0; i < (how == 2 ? 100 : 1); ++i) {
    FILE* const one = fopencookie(&file, "w", functions);
    setvbuf(one, NULL, _IONBF, 0);
    if (setjmp(outside) == 0) fwrite(bytes, 1, 22, one);
  }
  write_file("outside", 33);
  return 5;
}
static int exits_inside(void) { return leaves(1); }
static int jumps_outside(void) { return leaves(2); }

static int compare(const void* a, const void* b) {
  put(how_to_leave, 1);
  if (*(const int*)a == 3 && *(const int*)b == 3) longjmp(outside, 1);
  return *(const int*)a - *(const int*)b;
}
static int jumps_from_search(void) {
  const int numbers[] = {1, 2, 3, 4, 5}, wanted = 3;
  how_to_leave = open_new("compared");
  if (setjmp(outside) == 0) bsearch(&wanted, numbers, 5, sizeof(int), compare);
  write_file("outside", 33);
  return 0;
}

/* The handler leaves a read that waits. */
static sigjmp_buf behind;
static void jump(int signal) {
  (void)signal;
  siglongjmp(behind, 1);
}
static int interrupted(void) {
  int ends[2];
  char one;
  if (pipe(ends) != 0) return 1;
  signal(SIGALRM, jump);
  const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
  if (sigsetjmp(behind, 1) == 0) {
    setitimer(ITIMER_REAL, &soon, NULL);
    while (read(ends[0], &one, 1) < 0) {
    }
  }
  write_file("outside", 33);
  return 0;
}

/* The handler leaves calls, and the recorder within them, wherever it finds them. */
static volatile sig_atomic_t jumps;
static void jump_again(int signal) {
  ++jumps;
  jump(signal);
}
static int interrupted_often(void) {
  const int file = open_new("inside");
  put(file, 0);
  const struct sigaction again = {.sa_handler = jump_again, .sa_flags = SA_NODEFER};
  const struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  sigaction(SIGALRM, &again, NULL);
  if (sigsetjmp(behind, 1) == 0) setitimer(ITIMER_REAL, &every, NULL);
  while (jumps < 100) {
    (void)!pwrite(file, bytes, 0, 0);
    close(open("inside", O_RDONLY));
  }
  setitimer(ITIMER_REAL, &never, NULL);
  write_file("outside", 33);
  return 0;
}

/* The first call of the process is on a small stack. */
static void write_last(int signal) {
  (void)signal;
  write_file("written", 60);
  _exit(7);
}
static void* crash(void* unused) {
  static char room[8192];
  const stack_t small = {.ss_sp = room, .ss_size = sizeof room};
  const struct sigaction last = {.sa_handler = write_last, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&small, NULL) == 0 && sigaction(SIGSEGV, &last, NULL) == 0) raise(SIGSEGV);
  return unused;
}
static int crashes(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, crash, NULL);
  pthread_join(thread, NULL);
  return 1;
}

/* A limit of files' sizes holds for the recorder's file, too: it must neither end the program nor change what it sees. */
static int limited_to(rlim_t size) {
  const struct rlimit small = {size, size};
  if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
  write_often("small", 50000);
  return 0;
}
static int limited(void) { return limited_to(200000); }
static int limited_later(void) { return limited_to(1500000); }

static int prints(void) {
  printf("a line\n");
  fprintf(stderr, "a complaint\n");
  return 6;
}

static const struct {
  const char* name;
  int (*run)(void);
} cases[] = {
    {"forked", forked},
    {"executed", executed},
    {"started", started},
    {"becomes_another", becomes_another},
    {"becomes_another_unrecorded", becomes_another_unrecorded},
    {"stays_itself", stays_itself},
    {"fails_to_start", fails_to_start},
    {"moves_offsets", moves_offsets},
    {"copies_behind_pipe", copies_behind_pipe},
    {"without_standard", without_standard},
    {"threaded", threaded},
    {"second_thread", second_thread},
    {"forks_inside", forks_inside},
    {"first_thread_leaves", first_thread_leaves},
    {"server_leaves", server_leaves},
    {"closed_range", closed_range},
    {"killed", killed},
    {"without_descriptors", without_descriptors},
    {"aborts", aborts},
    {"ends_at_once", ends_at_once},
    {"exits_inside", exits_inside},
    {"jumps_outside", jumps_outside},
    {"interrupted", interrupted},
    {"interrupted_often", interrupted_often},
    {"crashes", crashes},
    {"jumps_from_search", jumps_from_search},
    {"limited", limited},
    {"prints", prints},
    {"limited_later", limited_later},
};

int main(int count, char** words) {
  self = words[0];
  if (count == 3 && strcmp(words[1], "writes") == 0) return write_file(words[2], 20), 0;
  for (size_t i = 0; count == 2 && i < sizeof cases / sizeof cases[0]; ++i)
    if (strcmp(words[1], cases[i].name) == 0) return cases[i].run();
  fprintf(stderr, "recorded_process: no case '%s'\n", count > 1 ? words[1] : "");
  return 97;
}
