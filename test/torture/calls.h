/* What a line of a script does. Used by the clients of the fault campaign, by one thread or by several of a team at a time.
 * Before it: client.c, which reads the script. After it: calls.c.
 */
#ifndef TORTURE_CALLS_H
#define TORTURE_CALLS_H

#ifdef TORTURE_MPI
#include <damaris/damaris_mpi.h>
#else
#include <damaris/damaris.h>
#endif

#include <stdint.h>

typedef struct {
  const char *config, *phase;
  int id; /* of a client; -1 on a server's rank */
  int ledger;
  int is_client; /* since init */
} player_t;

extern player_t player;

int64_t now_us(void);
/* Adds to the ledger, whatever limit of file sizes the run has. */
__attribute__((format(printf, 1, 2))) void note(const char* format, ...);
/* Does what `line` says; returns the call's code. */
int obey(const char* line);

#endif
