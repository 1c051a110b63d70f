/* What every call of Damaris returns: one closed list of codes, grouped by who must act.
 * Used by: clients, servers, plugins and tools, in C, C++ and (mirrored) Fortran.
 * Before it: nothing. After it: damaris.h, plugin.h.
 *
 * Zero is success. A negative code is an error: nothing of the call has taken effect unless the call says otherwise, and
 * dc_last_error() holds a full sentence. A positive code is a notice: the call did what it should (for example nothing, for a
 * variable that is switched off) and a program may ignore it. Which calls return a code stands
 * with the calls. A user's plugin may return negative numbers of its own, which are handed on as they are.
 */
#ifndef DAMARIS_STATUS_H
#define DAMARIS_STATUS_H

typedef enum dc_code {
  DC_OK = 0,

  /* Notices: never failures. Of dc_write and its like, dc_alloc and dc_commit; DC_N_PLUGIN of dc_end_iteration, dc_flush and dc_finalize.
 *   */
  DC_N_DISABLED = 1, /* the variable is switched off in the XML; nothing was copied */
  DC_N_NOT_DUE = 2,  /* the variable is not due in this step (every, from, until in the XML); nothing was copied */
  DC_N_SKIPPED = 3,  /* there was no room, and on-full lets this node skip the variable in this step; nothing was copied */
  DC_N_DROPPED = 4,  /* there was no room, and on-full lets this node drop the rest of this step; nothing was copied */
  DC_N_PLUGIN = 5, /* a plugin or an action has failed and is switched off, as the XML says (policy); the run goes on without it */

  /* Usage: the program calls Damaris wrongly; correct the program. */
  DC_E_NOT_INITIALIZED = -100,     /* a call before dc_initialize, after dc_finalize, or from a plugin's callback */
  DC_E_ALREADY_INITIALIZED = -101, /* a second dc_initialize */
  DC_E_ARGUMENT = -102,            /* a null pointer, a negative number, a value out of range, a stale handle */
  DC_E_UNKNOWN_NAME = -103,        /* no variable, event, parameter or layout of that name in the XML */
  DC_E_TYPE = -104,                /* the array's type is not the one of the layout */
  DC_E_SHAPE = -105,               /* dimensions, extents or position do not fit the layout or its global array */
  DC_E_DUPLICATE = -106,           /* a second write of the same block in one step, or an id used twice */
  DC_E_BACKWARD = -107,            /* a step that this client has ended, or lower than its open one */
  DC_E_NOT_ALLOCATED = -108,       /* commit without alloc, a second time, or after the step has ended */
  DC_E_NOT_COMMITTED = -109,       /* an alloc of an ended step was never committed; it was cancelled */
  DC_E_NOT_ENDED = -110,           /* flush of a step that this client has not ended */
  DC_E_NO_MPI = -111,              /* a feature that needs MPI, in a build or start-up without it */
  DC_E_THREADS = -112,             /* more threads call than the XML allows */
  DC_E_FORKED = -113,              /* a call of a process that was forked from the one that has attached */

  /* Config: correct the XML or the way the job is started. */
  DC_E_CONFIG = -200,          /* the XML is missing, malformed, or says something that cannot be */
  DC_E_CONFIG_MISMATCH = -201, /* ranks, or client and server, hold different configurations */
  DC_E_PLACEMENT = -202,       /* more dedicated cores than a node has ranks */
  DC_E_STALE_REGION = -203,    /* a dead job left a region with data that nobody has stored */
  DC_E_REGION_IN_USE = -204,   /* a living server of the same user and job holds this region */
  DC_E_VERSION = -205,         /* client and server, or host and plugin, were built against another ABI, or with another MPI */

  /* Resource: give more memory, or output less. */
  DC_E_TOO_LARGE = -300,           /* one dataset is larger than the client's share of the buffer */
  DC_E_ITERATION_TOO_LARGE = -301, /* one client's step alone fills its share of the buffer */
  DC_E_FULL = -302,                /* the buffer or the lane stayed full for the whole time-out */
  DC_E_SHM = -303,                 /* /dev/shm is too small, or the region cannot be made or mapped */
  DC_E_MEMORY = -304,              /* the process is out of memory, or of another resource that its limits set */
  DC_E_TIMEOUT = -305,             /* the wait was longer than its bound; the message says on whom */

  /* I/O: look at the storage. */
  DC_E_IO = -400,         /* a file could not be made, written, synced, renamed or read */
  DC_E_EARLIER_IO = -401, /* this call worked; an earlier step could not be stored as wanted */
  DC_E_NO_OUTPUT = -402,  /* the output folder is missing or cannot be written */
  DC_E_NOT_STORED = -403, /* what is to be read was not stored, or not all of it */

  /* Plugin. */
  DC_E_PLUGIN = -500, /* a plugin is missing, of another version, failed or threw */

  /* Peer: a process that this one depends on is gone. */
  DC_E_SERVER_LOST = -600, /* the server of this node has died, has ended, or serves this client no more */
  DC_E_CLIENT_LOST = -601, /* a client died before it ended a step, or what it sends is damaged */
  DC_E_STOPPED = -602,     /* the server was asked to stop before its clients had ended */

  /* Internal: a fault of Damaris; please report it. */
  DC_E_INTERNAL = -900
} dc_code;

#endif
