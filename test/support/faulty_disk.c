/* A disk that fails on demand: to be preloaded under a program that stores files.
 * Used by: the tests of storage faults, in damaris-server or in a process that works in place; any thread.
 * Before it: open, write, fsync, rename, ... of paths below $DAMARIS_FAULT_UNDER. After it: the real calls, or what a rule says.
 *
 * $DAMARIS_FAULT_RULES names a file of rules, looked at before each such call, so that a test switches faults during the run. A line is
 *     CALLS WHAT [FIRST [LAST]] [@PART]      for example   write,fsync ENOSPC 3 @.jsonl
 * CALLS  all, or some of: open read write fsync truncate reserve rename link unlink mkdir close room (write stands for all kinds of it,
 *        body for those that do not begin at offset 0, where HDF5 has its superblock)
 * WHAT   ENOSPC, EIO, EROFS, EDQUOT, ENOENT, EACCES, ESTALE or ETIMEDOUT: the call does nothing and fails
 *        short: half of it is written; slow:MS: it takes so much longer; hang: it waits as long as the rule stands
 *        kill-before, kill-after: the process dies there
 *        room:BYTES: what statvfs tells of the free space, for the call room
 * PART   of the paths that are meant; without it all
 * FIRST and LAST count the calls that are meant since the rules were last changed, from 1; without them: every one.
 * The first rule that fits decides. With $DAMARIS_FAULT_LOG each call adds a line "CALL PATH" to that file. A file is changed by a rename.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call { OPEN, READ, WRITE, FSYNC, TRUNCATE, RESERVE, RENAME, LINK, UNLINK, MKDIR, CLOSE, ROOM, HEADER, CALLS };
static const char* const kNames[CALLS] = {"open", "read",   "write", "fsync", "truncate", "reserve", "rename",
                                          "link", "unlink", "mkdir", "close", "room",     "write"};

enum what { NOTHING, FAIL, SHORT, SLOW, HANG, KILL_BEFORE, KILL_AFTER, FREE };
struct verdict {
  enum what what;
  long long value; /* errno, milliseconds or bytes */
};

struct rule {
  unsigned calls; /* a bit each */
  char part[64];
  long first, last, count;
  struct verdict verdict;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static char text_of_rules[4096];
static struct rule rules[32];
static size_t rule_count;

/* The real function of a name; ours would call itself. */
#define REAL(name) ((__typeof__(&name))real(#name))
static void* real(const char* name) { return dlsym(RTLD_NEXT, name); }

/* Not through our own functions. */
static long read_file(const char* path, char* text, size_t size) {
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  long got = -1;
  if (file >= 0) {
    got = syscall(SYS_read, file, text, size - 1);
    syscall(SYS_close, file);
  }
  text[got > 0 ? got : 0] = '\0';
  return got;
}

static void log_call(enum call call, const char* path) {
  const char* log = getenv("DAMARIS_FAULT_LOG");
  char line[PATH_MAX + 32];
  if (log == NULL) return;
  const long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const int length = snprintf(line, sizeof line, "%s %s\n", kNames[call], path);
  if (file >= 0) {
    syscall(SYS_write, file, line, (size_t)length);
    syscall(SYS_close, file);
  }
}

static int is_below(const char* path) {
  const char* folder = getenv("DAMARIS_FAULT_UNDER");
  const size_t length = folder == NULL ? 0 : strlen(folder);
  return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0' || path[length] == ' ');
}

/* Of a descriptor; "" for what is no file. */
static const char* path_of(int descriptor, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = '\0';
  return path;
}

static const char* absolute(const char* name, char* path) {
  if (name == NULL) return "";
  if (name[0] == '/') return name;
  if (getcwd(path, PATH_MAX) == NULL) return "";
  const size_t length = strlen(path);
  snprintf(path + length, PATH_MAX - length, "/%s", name);
  return path;
}

static struct verdict verdict_of(const char* word) {
  static const struct {
    const char* word;
    struct verdict verdict;
  } kWords[] = {
      {"ENOSPC", {FAIL, ENOSPC}}, {"EIO", {FAIL, EIO}},       {"EROFS", {FAIL, EROFS}},          {"EDQUOT", {FAIL, EDQUOT}},
      {"ENOENT", {FAIL, ENOENT}}, {"ESTALE", {FAIL, ESTALE}}, {"EACCES", {FAIL, EACCES}},        {"ETIMEDOUT", {FAIL, ETIMEDOUT}},
      {"short", {SHORT, 0}},      {"hang", {HANG, 0}},        {"kill-before", {KILL_BEFORE, 0}}, {"kill-after", {KILL_AFTER, 0}}};
  for (size_t i = 0; i < sizeof kWords / sizeof kWords[0]; ++i)
    if (strcmp(word, kWords[i].word) == 0) return kWords[i].verdict;
  if (strncmp(word, "slow:", 5) == 0) return (struct verdict){SLOW, atoll(word + 5)};
  if (strncmp(word, "room:", 5) == 0) return (struct verdict){FREE, atoll(word + 5)};
  fprintf(stderr, "faulty_disk: no rule knows '%s'\n", word);
  abort();
}

static unsigned calls_in(char* list) {
  unsigned calls = 0;
  char* rest = NULL;
  for (const char* name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
    for (int i = 0; i < CALLS; ++i)
      if (strcmp(name, kNames[i]) == 0 || (strcmp(name, "all") == 0 && i != ROOM) || (strcmp(name, "body") == 0 && i == WRITE))
        calls |= 1u << i;
  return calls;
}

static void add_rule(const char* line) {
  char list[256], word[64];
  struct rule rule = {.first = 1, .last = LONG_MAX};
  const char* part = strchr(line, '@');
  if (sscanf(line, "%255s %63s %ld %ld", list, word, &rule.first, &rule.last) < 2) return;
  if (part != NULL) snprintf(rule.part, sizeof rule.part, "%s", part + 1);
  rule.calls = calls_in(list);
  rule.verdict = verdict_of(word);
  if (rule_count < sizeof rules / sizeof rules[0]) rules[rule_count++] = rule;
}

static struct verdict judge(enum call call, const char* path) {
  struct verdict verdict = {NOTHING, 0};
  for (struct rule* rule = rules; rule < rules + rule_count; ++rule) {
    if ((rule->calls >> call & 1u) == 0 || strstr(path, rule->part) == NULL) continue;
    ++rule->count;
    if (verdict.what == NOTHING && rule->count >= rule->first && rule->count <= rule->last) verdict = rule->verdict;
  }
  return verdict;
}

static void look_at_rules(void) {
  char now[sizeof text_of_rules] = "";
  char* rest = NULL;
  const char* file = getenv("DAMARIS_FAULT_RULES");
  if (file != NULL) read_file(file, now, sizeof now);
  if (strcmp(now, text_of_rules) == 0) return;
  memcpy(text_of_rules, now, sizeof now);
  rule_count = 0;
  for (const char* line = strtok_r(now, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) add_rule(line);
}

static void rest_ms(long long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void hang(void) {
  char first[sizeof text_of_rules];
  int same = 1;
  pthread_mutex_lock(&one_at_a_time);
  memcpy(first, text_of_rules, sizeof first);
  while (same) {
    pthread_mutex_unlock(&one_at_a_time);
    rest_ms(2);
    pthread_mutex_lock(&one_at_a_time);
    look_at_rules();
    same = strcmp(first, text_of_rules) == 0;
  }
  pthread_mutex_unlock(&one_at_a_time);
}

/* What is to become of this call; sleeps and dies here where that is it. */
static struct verdict before(enum call call, const char* path) {
  const int error = errno;
  if (!is_below(path)) return (struct verdict){NOTHING, 0};
  pthread_mutex_lock(&one_at_a_time);
  look_at_rules();
  const struct verdict verdict = judge(call, path);
  log_call(call, path);
  pthread_mutex_unlock(&one_at_a_time);
  if (verdict.what == KILL_BEFORE) kill(getpid(), SIGKILL);
  if (verdict.what == SLOW) rest_ms(verdict.value);
  if (verdict.what == HANG) hang();
  errno = verdict.what == FAIL ? (int)verdict.value : error;
  return verdict;
}

static void after(struct verdict verdict) {
  if (verdict.what == KILL_AFTER) kill(getpid(), SIGKILL);
}

#define GUARDED(call, path, type, invocation)        \
  const struct verdict verdict = before(call, path); \
  if (verdict.what == FAIL) return -1;               \
  const type result = invocation;                    \
  after(verdict);                                    \
  return result

static size_t whole_or_half(struct verdict verdict, size_t size) { return verdict.what == SHORT ? (size + 1) / 2 : size; }

static int open_as(const char* name, const char* path, int flags, mode_t mode) {
  char place[PATH_MAX];
  GUARDED(OPEN, absolute(path, place), int, ((int (*)(const char*, int, ...))real(name))(path, flags, mode));
}
static mode_t mode_in(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; }

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return open_as("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_in(flags, rest);
  va_end(rest);
  return open_as("open64", path, flags, mode);
}

ssize_t read(int file, void* data, size_t size) {
  char path[PATH_MAX];
  GUARDED(READ, path_of(file, path), ssize_t, REAL(read)(file, data, size));
}
ssize_t pread(int file, void* data, size_t size, off_t offset) {
  char path[PATH_MAX];
  GUARDED(READ, path_of(file, path), ssize_t, REAL(pread)(file, data, size, offset));
}
ssize_t pread64(int file, void* data, size_t size, off64_t offset) { return pread(file, data, size, offset); }

ssize_t write(int file, const void* data, size_t size) {
  char path[PATH_MAX];
  GUARDED(WRITE, path_of(file, path), ssize_t, REAL(write)(file, data, whole_or_half(verdict, size)));
}
ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
  char path[PATH_MAX];
  GUARDED(offset == 0 ? HEADER : WRITE, path_of(file, path), ssize_t,
          REAL(pwrite)(file, data, whole_or_half(verdict, size), offset));
}
ssize_t pwrite64(int file, const void* data, size_t size, off64_t offset) { return pwrite(file, data, size, offset); }
ssize_t writev(int file, const struct iovec* parts, int count) {
  char path[PATH_MAX];
  GUARDED(WRITE, path_of(file, path), ssize_t, REAL(writev)(file, parts, verdict.what == SHORT ? 1 : count));
}
ssize_t pwritev(int file, const struct iovec* parts, int count, off_t offset) {
  char path[PATH_MAX];
  GUARDED(offset == 0 ? HEADER : WRITE, path_of(file, path), ssize_t,
          REAL(pwritev)(file, parts, verdict.what == SHORT ? 1 : count, offset));
}
ssize_t pwritev64(int file, const struct iovec* parts, int count, off64_t offset) { return pwritev(file, parts, count, offset); }

/* The real ones are left out below the folder: what a killed process has written stays, and the tests need not wait for a disk. */
static int sync_as(const char* name, int file) {
  char path[PATH_MAX];
  GUARDED(FSYNC, path_of(file, path), int, is_below(path) ? 0 : ((int (*)(int))real(name))(file));
}
int fsync(int file) { return sync_as("fsync", file); }
int fdatasync(int file) { return sync_as("fdatasync", file); }

int ftruncate(int file, off_t size) {
  char path[PATH_MAX];
  GUARDED(TRUNCATE, path_of(file, path), int, REAL(ftruncate)(file, size));
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }
int fallocate(int file, int mode, off_t offset, off_t size) {
  char path[PATH_MAX];
  GUARDED(RESERVE, path_of(file, path), int, REAL(fallocate)(file, mode, offset, size));
}
int fallocate64(int file, int mode, off64_t offset, off64_t size) { return fallocate(file, mode, offset, size); }

int rename(const char* from, const char* to) {
  char path[PATH_MAX];
  GUARDED(RENAME, absolute(to, path), int, REAL(rename)(from, to));
}
int link(const char* from, const char* to) {
  char path[PATH_MAX];
  GUARDED(LINK, absolute(to, path), int, REAL(link)(from, to));
}
int unlink(const char* name) {
  char path[PATH_MAX];
  GUARDED(UNLINK, absolute(name, path), int, REAL(unlink)(name));
}
int mkdir(const char* name, mode_t mode) {
  char path[PATH_MAX];
  GUARDED(MKDIR, absolute(name, path), int, REAL(mkdir)(name, mode));
}
/* The descriptor is closed all the same, as Linux does. */
int close(int file) {
  char path[PATH_MAX];
  const struct verdict verdict = before(CLOSE, path_of(file, path));
  const int error = errno;
  const int result = (int)syscall(SYS_close, file);
  after(verdict);
  if (verdict.what != FAIL) return result;
  errno = error;
  return -1;
}

int statvfs(const char* name, struct statvfs* facts) {
  char path[PATH_MAX];
  const struct verdict verdict = before(ROOM, absolute(name, path));
  if (verdict.what == FAIL) return -1;
  const int result = REAL(statvfs)(name, facts);
  if (result == 0 && verdict.what == FREE) {
    facts->f_frsize = 1;
    facts->f_bavail = (fsblkcnt_t)verdict.value;
  }
  return result;
}
int statvfs64(const char* name, struct statvfs64* facts) { return statvfs(name, (struct statvfs*)facts); }
