/* Prints a call's result and errno to a descriptor of its own, not through a recorded function. errno is one that no call sets: a call that keeps it
 * keeps it with the recorder, too.
 */
#ifndef RECORDER_CALLS_H
#define RECORDER_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { kResults = 100 };
static int open_results(const char* name) { return dup2(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600), kResults) == kResults; }
static void print(const char* name, long long result, int error) { dprintf(kResults, "%s %lld %d\n", name, result, error); }

#ifndef CALL_ERROR
#define CALL_ERROR errno
#endif
#define CALL(name, ...)                                    \
  do {                                                     \
    errno = 5555;                                          \
    const long long result = (long long)name(__VA_ARGS__); \
    print(#name, result, CALL_ERROR);                      \
  } while (0)
/* Of a pointer or a handle, whose value says nothing: whether it is one. */
#define CALL_FOR(variable, none, name, ...)       \
  do {                                            \
    errno = 5555;                                 \
    variable = name(__VA_ARGS__);                 \
    print(#name, variable != (none), CALL_ERROR); \
  } while (0)

#endif
