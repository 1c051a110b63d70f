/* The codes that every call of Damaris returns: one closed list, grouped by what has to be corrected.
 * Used by: clients, servers, plugins and tools, in C, C++ and (mirrored as df_e_...) Fortran.
 * Before it: nothing. After it: damaris.h, plugin.h.
 *
 * Zero is success. A negative code is an error: the call has had no effect, unless its comment says otherwise, and dc_last_error()
 * returns a full sentence. A positive code is a notice: the call did what the XML asks for (for example nothing, for a variable that is
 * switched off), and a program may ignore it. The comment of each call lists its codes. A user's plugin may return negative numbers of its
 * own, which are passed on unchanged.
 */
#ifndef DAMARIS_STATUS_H
#define DAMARIS_STATUS_H

typedef enum dc_code {
  DC_OK = 0,

  /* Notices: never failures. The calls that write, dc_alloc and dc_commit return them; DC_N_PLUGIN comes from dc_end_iteration,
   * dc_flush and dc_finalize, DC_N_VIEWS_FOLLOW from dc_finalize. */
  DC_N_DISABLED = 1,     /* the variable is switched off in the XML; nothing was copied */
  DC_N_NOT_DUE = 2,      /* the variable is not due in this step (every, from, until in the XML); nothing was copied */
  DC_N_SKIPPED = 3,      /* the buffer was full, and on-full makes this node skip the variable in this step; nothing was copied */
  DC_N_DROPPED = 4,      /* the buffer was full, and on-full makes this node drop the rest of this step; nothing was copied */
  DC_N_PLUGIN = 5,       /* a plugin or an action failed, and policy="disable" switched it off; the run continues without it */
  DC_N_VIEWS_FOLLOW = 6, /* all data are durable, but the views of the whole run are written only after dc_finalize */

  /* Usage: the program calls Damaris wrongly; correct the program. */
  DC_E_NOT_INITIALIZED = -100,     /* a call before dc_initialize, after dc_finalize, or from a plugin's callback */
  DC_E_ALREADY_INITIALIZED = -101, /* a second dc_initialize */
  DC_E_ARGUMENT = -102,            /* a null pointer, a negative number, a value out of range, a stale handle */
  DC_E_UNKNOWN_NAME = -103,        /* no variable, event, parameter or layout of that name in the XML */
  DC_E_TYPE = -104,                /* the element type of the array is not that of the layout */
  DC_E_SHAPE = -105,               /* dimensions, extents or position do not fit the layout or its global array */
  DC_E_DUPLICATE = -106,           /* a second write of the same block in one step, or a client id that is in use */
  DC_E_BACKWARD = -107,            /* a step that this client has ended, or lower than its open one */
  DC_E_NOT_ALLOCATED = -108,       /* a commit without alloc, a second commit, or one after the end of the step */
  DC_E_NOT_COMMITTED = -109,       /* an alloc of an ended step was never committed; it was cancelled */
  DC_E_NOT_ENDED = -110,           /* a flush of a step that this client has not ended */
  DC_E_NO_MPI = -111,              /* a feature that needs MPI, in a build or start-up without it */
  DC_E_THREADS = -112,             /* more threads call than `threads` in the XML allows */
  DC_E_FORKED = -113,              /* a call from a fork of the process that has attached */

  /* Config: correct the XML or the way the job is started. */
  DC_E_CONFIG = -200,          /* the XML is missing, malformed or contradictory, or the server already has all of its clients */
  DC_E_CONFIG_MISMATCH = -201, /* ranks, or client and server, hold different configurations */
  DC_E_PLACEMENT = -202,       /* more dedicated cores than a node has ranks */
  DC_E_STALE_REGION = -203,    /* a dead server left a region with data that are not stored */
  DC_E_REGION_IN_USE = -204,   /* a living server, or client of a dead one, of the same user uses this region */
  DC_E_VERSION = -205,         /* client and server, or host and plugin, differ in their ABI */

  /* Resource: give more memory, or output less. */
  DC_E_TOO_LARGE = -300,           /* one block is larger than the client's share of the buffer */
  DC_E_ITERATION_TOO_LARGE = -301, /* the open step of one client alone fills its share of the buffer */
  DC_E_FULL = -302,                /* the buffer or the lane stayed full until the buffer timeout */
  DC_E_SHM = -303,                 /* /dev/shm is too small, or the region cannot be made or mapped */
  DC_E_MEMORY = -304,              /* the process is out of memory, or of another limited resource */
  DC_E_TIMEOUT = -305,             /* a wait reached its bound; the message names the process that was waited for */

  /* I/O: look at the storage. */
  DC_E_IO = -400,         /* a file could not be created, written, synced, renamed or read */
  DC_E_EARLIER_IO = -401, /* this call succeeded; an earlier step could not be stored as configured */
  DC_E_NO_OUTPUT = -402,  /* the output folder is missing, not writable, or in use by another run */
  DC_E_NOT_STORED = -403, /* the requested data were not stored, or not all of them */

  /* Plugin. */
  DC_E_PLUGIN = -500, /* a plugin or one of its symbols is missing, or the plugin failed or threw an exception */

  /* Peer: another process that the call depends on has ended. */
  DC_E_SERVER_LOST = -600, /* the server of this node has died or ended, or no longer serves this client */
  DC_E_CLIENT_LOST = -601, /* a client died before it ended a step, or its messages are damaged */
  DC_E_STOPPED = -602,     /* the server was stopped (SIGTERM) before its clients had ended */

  /* Internal: a defect of Damaris; please report it. */
  DC_E_INTERNAL = -900
} dc_code;

#endif
