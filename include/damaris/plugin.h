/* What a plugin of the server sees: read-only views of datasets and steps, and a versioned table of callbacks.
 * Used by: shared objects that the server loads at start-up, on its one dispatch thread; in place on a thread of the simulation.
 * Before it: the event engine. After it: the plugin's own library (HDF5, a statistics code, ...).
 *
 * Two forms. The shortest plugin is one exported function, named in the XML (`action="do_something" using="my_plugin.so"`):
 *     int do_something(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host);
 * The full form exports `const dc_plugin_t* damaris_plugin(void)` and is named by `<plugin name=... using=...>` or stands behind a
 * storage element. Nothing here is a symbol to link against: this header is all a plugin needs.
 *
 * Rules that hold for every callback
 *   Threads  one callback at a time, never one inside another: on the dispatch thread of the server. In place (`dedicated cores="0"`) on
 *            whichever thread of the simulation is in a call of Damaris, which lasts the longer for it.
 *   Calls    the functions of the host, and of damaris.h only dc_strerror and dc_last_error: all others return DC_E_NOT_INITIALIZED. MPI
 *            only over host->communicator. A callback that forks ends the child with _exit before it returns.
 *   Waits    the server takes no events meanwhile; a callback of more than 10 s is a line in the log, and nothing interrupts it. Long work
 *            goes in pieces, see DC_AGAIN and DC_WAIT.
 *   Views    all pointers that a callback is given belong to the server and are valid until it returns, unless the struct says more;
 *            nothing behind them may be changed but read->data and *step. Data may lie elsewhere at the next call for the same step.
 *   Shapes   lists of dimensions are in C order, slowest first: for a Fortran simulation extents[0] is that of its last index. Of
 *            DC_MAX_DIMS places the first `ndims` of the variable count, the others are 0.
 *   Units    extents, positions and ghost zones in elements; `bytes` and what ends in _bytes in bytes.
 *   Returns  DC_OK or a negative code, explained with host->fail. Positive values other than DC_AGAIN and DC_WAIT count as DC_OK. A C++
 *            exception that leaves a callback is caught and counts as DC_E_PLUGIN. The floating-point environment is put back.
 *   After a negative code (`policy` of <plugins> in the XML)
 *            "disable", the default: the plugin, or the action, is switched off: nothing of it is called again but finalize, the run goes
 *            on, and each client hears of it once as the notice DC_N_PLUGIN.
 *            "fail-step", and a storage always: it stays and is called again. The first such code of a server is `first_error` of
 *            dc_status and what dc_mpi_initialize returns on the server's rank (damaris-server: exit status 1). After on_event,
 *            on_step and finalize the clients hear of it, as DC_E_EARLIER_IO; after on_message, on_passed and on_idle the log does.
 *            Otherwise with init, on_read and on_last_step: see there.
 */
#ifndef DAMARIS_PLUGIN_H
#define DAMARIS_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include <damaris/damaris.h>

/* Before the definition of a plugin's function: shows it outside the shared object, under its C name. */
#ifdef __cplusplus
#define DC_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define DC_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Names of earlier versions mean what they did, and the compiler warns of them with the new name. Code that has an on_iteration of its own
 * defines DC_WITHOUT_OLD_NAMES. */
#define DC_OLD_NAME(now) __attribute__((deprecated("it is called " now)))
#ifndef DC_WITHOUT_OLD_NAMES
#define on_iteration _Pragma("GCC warning \"on_iteration is called on_step\"") on_step
#endif

/* Raised when a struct or callback below changes its meaning; fields are only ever added at the end. A plugin of another one is refused
 * with DC_E_VERSION. */
#define DC_PLUGIN_ABI 1

/* How often an action runs for one signal: for each sender, at once; once when all clients of this server have sent it; once on every
 * server when all clients of the run have, in one order of all such events. */
typedef enum dc_scope { DC_SCOPE_CORE = 0, DC_SCOPE_NODE = 1, DC_SCOPE_GLOBAL = 2 } dc_scope;

/* One member of a compound type. */
typedef struct dc_field_t {
  const char* name;      /* as in the XML; the server's, valid from init to finalize */
  dc_type type;          /* never DC_COMPOUND */
  int64_t count;         /* elements of a small array member, 1 for a scalar */
  uint64_t offset_bytes; /* from the begin of the compound */
} dc_field_t;

/* How the values of a variable may be changed before they are stored. */
typedef enum dc_precision {
  DC_EXACT = 0,          /* not at all */
  DC_ROUND_ABSOLUTE = 1, /* to `bound`, in the variable's unit */
  DC_ROUND_RELATIVE = 2, /* to `bound` times the value */
  DC_FLOAT16 = 3         /* to 16-bit floating point with scale and offset */
} dc_precision;

/* How the bytes are packed. */
typedef enum dc_codec { DC_CODEC_NONE = 0, DC_CODEC_DEFLATE = 1, DC_CODEC_ZSTD = 2 } dc_codec;

/* What `reduce` in the XML asks of the storage. */
typedef struct dc_reduction_t {
  dc_precision precision;
  double bound;         /* DC_ROUND_...: more than 0; relative ones less than 1, without a unit */
  int has_packing;      /* DC_FLOAT16: 1: with the scale and offset given; 0: with those that fit the values */
  double scale, offset; /* value = 16-bit number * scale + offset, both in the variable's unit */
  int keep_on_overflow; /* values that overflow 16 bits: 1: the dataset keeps its type; 0: the step is not stored */
  dc_codec codec;
  int level; /* of the codec: deflate 1 (fast) to 12 (small), zstd 1 to 19; 0 without a codec */
} dc_reduction_t;

/* What the XML says of a variable. The server owns it and all that it points to; valid from init to finalize. */
typedef struct dc_variable_info_t {
  uint32_t id;             /* index in host->variables, from 0, the same on all processes */
  const char* name;        /* without groups */
  const char* path;        /* "group/subgroup/name" */
  const char* layout;      /* name of the layout */
  const char* unit;        /* of the values, as in the XML; "" when not given */
  const char* description; /* "" when not given */
  dc_type type;
  uint64_t element_bytes;
  const char* type_name; /* as in the XML; for a compound its name */
  int field_count;       /* compound only, else 0 */
  const dc_field_t* fields;
  int ndims;         /* 1 to DC_MAX_DIMS; 1 for a scalar, which has one element */
  int fortran_order; /* 1: the XML lists the fastest dimension first. All views below are in C order (slowest first). */
  int has_global;    /* 1: `global` extents are known */
  dc_reduction_t reduction;
  const char* reduce; /* the text of it in the XML, "" for none */
  /* On a rectilinear mesh: ids of the variables with the coordinates' values, one per dimension in C order. */
  int coordinate_count; /* ndims, else 0 */
  const uint32_t* coordinates;
  int priority;               /* larger ones are stored first; 0 when the XML does not say */
  int64_t chunk[DC_MAX_DIMS]; /* extents of a chunk in the files, in elements; all 0 when the XML leaves it to the storage */
} dc_variable_info_t;

/* One dataset: a block of one variable from one client. Dimensions in C order (slowest first), in elements; owned by the server, valid
 * during the callback. */
typedef struct dc_dataset_t {
  const dc_variable_info_t* variable; /* tell variables apart by its id: with reduce-on-full it is not the one of host->variables */
  int64_t step;
  int32_t source; /* id of the client */
  int32_t block;
  int64_t extents[DC_MAX_DIMS];    /* of the data in memory, ghost zones included */
  int64_t ghost_low[DC_MAX_DIMS];  /* elements to leave out at the low end of each dimension */
  int64_t ghost_high[DC_MAX_DIMS]; /* the same at the high end */
  int has_position;                /* 1: `position` is known */
  int64_t position[DC_MAX_DIMS];   /* of the interior in the global array, zero-based; only with has_position */
  int64_t global[DC_MAX_DIMS];     /* global extents; only with variable->has_global */
  const void* data;                /* contiguous, C order, ghost zones included; aligned to 64 bytes; valid during the callback */
  uint64_t bytes;                  /* of `data`, ghost zones included */
  int has_checksum;  /* 1: `checksum` was taken by the client as it handed the block over, or as the server spilled it */
  uint32_t checksum; /* CRC-32 of `data` */
} dc_dataset_t;

/* What a client wants back of a step that an earlier run stored: the interior of one block, without ghost zones. With a position it is a
 * part of the global array, whoever wrote it; without one it is the block that this source wrote. Dimensions in C order, in elements;
 * owned by the server, valid during the callback. */
typedef struct dc_read_t {
  const dc_variable_info_t* variable;
  int64_t step;
  int32_t source; /* id of the client that asks */
  int32_t block;
  int64_t extents[DC_MAX_DIMS];  /* of the interior */
  int has_position;              /* 1: `position` is known */
  int64_t position[DC_MAX_DIMS]; /* of the interior in the global array, zero-based; only with has_position */
  int64_t global[DC_MAX_DIMS];   /* global extents; only with variable->has_global */
  void* data;                    /* to be filled, contiguous, slowest dimension first; uninitialised; valid during the callback */
  uint64_t bytes;                /* of `data`: element_bytes times all extents */
} dc_read_t;

/* One step of this server's clients, as far as the server has received it when the callback runs. The server owns it and all that it
 * points to; valid during the callback. Lists that are empty may be NULL. */
typedef struct dc_step_t {
  int64_t step;
  int has_time; /* 1: `time` is known */
  double time;  /* physical time of dc_set_time, in the simulation's unit */
  int complete; /* 1 in on_step; 0 in on_event and actions, also of a global event that runs after the step has completed */
  size_t dataset_count;
  const dc_dataset_t* datasets; /* ordered by variable id, source, block; for a storage without variables of store="false" */
  size_t client_count;          /* clients that this server has places for, attached or not */
  size_t absent_count;     /* of `absent`: clients that ended the step without a write; known when it is complete, as `missing` */
  const int32_t* absent;   /* their ids, ascending */
  size_t missing_count;    /* clients that died before they ended the step */
  const int32_t* missing;  /* their ids, ascending */
  double age_s;            /* on_step: seconds since its last client ended it; else 0 */
  size_t skipped_count;    /* variables of which clients were refused writes in this step for want of room (on-full) */
  const uint32_t* skipped; /* their ids, ascending */
  int dropped;             /* 1: because the rest of the step was dropped; 0: because they may be skipped */
  int reduced;             /* 1: variables that have a reduce-on-full come with that as their reduction */
  uint64_t waits;          /* how many writes waited for room, of the clients that have ended the step */
  uint64_t spilled_bytes;  /* of data that were moved out of the buffer before they were stored */
  __extension__ union {
    int urgent; /* on_step: 1: a plugin that waits for its turn should write now: a client waits for room, for a flush or for the end, or
                   the next step is already complete */
    int hurry DC_OLD_NAME("urgent");
  };
  size_t never_attached;       /* on_step: clients that are not served: they did not come in time, or had no id of their own */
  size_t refused_count;        /* of `refused` */
  const char* const* refused;  /* sentences about data of this step that will not come, as the server refused or lost them */
  size_t plugin_failure_count; /* on_step of a storage plugin: other plugins that have failed since the step before */
  const char* const* plugin_failures; /* a sentence each */
} dc_step_t;
typedef dc_step_t dc_iteration_t DC_OLD_NAME("dc_step_t");

/* Why an action runs. The server owns it; valid during the callback. */
typedef struct dc_event_t {
  const char* name; /* as in the XML */
  int64_t step;
  dc_scope scope;
  int32_t source;    /* id of the sender for scope core, else -1 */
  uint32_t instance; /* 0 for a client's first signal of this name in this step, 1 for its second, ... */
  uint64_t order; /* global scope: place in the one order that all servers share, from 0; else a count of this server's, from 0 */
} dc_event_t;

/* One setting of the XML element behind a plugin: attribute name and value, both text as in the XML. Valid from init to finalize. */
typedef struct dc_setting_t {
  const char* key;
  const char* value;
} dc_setting_t;

/* What on_step may return besides a dc_code. The server takes events and calls again, with the same step, until it gets a code:
 * so a plugin that has much to do does it in pieces, and one that waits for its turn holds nobody up. Plugins behind it in the XML get the
 * step when it is done. In place the client's dc_end_iteration waits meanwhile, at most the XML's finalize timeout. */
enum {
  DC_AGAIN = 1000, /* there is more to do: call again at once */
  DC_WAIT = 1001   /* there is nothing to do yet: call again within a few milliseconds, or after a message */
};

/* A client that died, or whose server was asked to stop, before it finalized. */
typedef struct dc_lost_t {
  int32_t client;    /* its id */
  int64_t last_step; /* the last one that it ended; -1: none */
} dc_lost_t;

/* Services and facts of the server, one struct for each plugin and action. The server owns it and all that it points to; valid from init to
 * finalize, but for `clients` and `lost`, which are valid during the callback. Any function only inside a callback, with `self` first;
 * texts and data that a plugin hands to it are copied. */
typedef struct dc_host_t {
  uint32_t abi;            /* DC_PLUGIN_ABI of the server */
  uint32_t size_bytes;     /* of this struct; a field beyond it is not there */
  void* self;              /* first argument of the functions below */
  const char* simulation;  /* name from the XML */
  const char* config_file; /* path of the XML, for messages */
  const char* host_name;   /* without the domain */
  int server_index; /* 0 .. server_count-1 over the whole run; a detached server is 0 of 1, in place without MPI id of id + 1 */
  int server_count;
  int client_count;       /* clients of this server, as many as `clients` lists */
  const int32_t* clients; /* their ids, ascending; a detached server's: those that have come: none in init, all in on_step */
  size_t variable_count;
  const dc_variable_info_t* variables; /* by id */
  size_t setting_count;                /* of the element that named this plugin; 0 for an action */
  const dc_setting_t* settings;
  /* MPI_Comm* over the servers of the run, in the order of server_index; NULL without MPI. The server's: not to be freed. Only for
   * collective calls that every server's plugin makes in the same order. */
  const void* communicator;
  /* Writes one line to the log. level: 0 error, 1 warning, 2 info, 3 debug. */
  void (*log)(void* self, int level, const char* text);
  /* Records the sentence that explains the negative code the callback is about to return; the last one counts, for this callback only. */
  void (*fail)(void* self, const char* sentence);
  /* From on_step or on_message: tells of a file that is durable under its final name. The log has it at level info.
   *   Units  `bytes` of the file, `raw_bytes` of the data it holds as they were in memory. */
  void (*stored)(void* self, const char* path, uint64_t bytes, uint64_t raw_bytes);
  /* Sends a copy of `bytes` bytes, less than 2 GiB, to the same plugin on server `server` (this one too), where on_message gets them. Never
   * waits. Messages between two servers keep their order. Those to and from server 0 that were sent by the end of the last step
   * arrive before finalize.
   *   Returns  DC_E_ARGUMENT for a server that is not there, NULL for more than 0 bytes, or a call from an action; DC_E_NO_MPI for another
   *            process where there is no dedicated core. Nothing is sent then. */
  int (*send)(void* self, int server, const void* data, uint64_t bytes);
  const char* job;     /* the batch job, or DAMARIS_JOB; "local" without one: servers of one run have the same */
  const char* regions; /* how the names of the run's regions begin: no other run has the same; "" in place */
  /* In on_step, before it returns DC_WAIT: what it waits for, as in "which waits for its turn". Clients whose time is over meanwhile
   * read it behind the plugin's name. Forgotten when on_step returns a code. */
  void (*waits)(void* self, const char* text);
  /* What is missing of steps that on_step is not called for: clients of this server that are lost, and how many never attached.
   * Up to date in on_passed and finalize. */
  size_t lost_count;
  const dc_lost_t* lost;
  size_t never_attached;
  /* The same for all servers of this run, and for no other run: for locks, not to be stored. In place all processes of one launcher, batch
   * job or DAMARIS_JOB with the same XML are one run. */
  const char* run;
} dc_host_t;

/* The shortest plugin: one function that the XML names as an action, called for each event bound to it. It gets the step that the
 * event belongs to, as far as it has arrived, and its own host.
 *   Returns  DC_OK or a negative code, by policy as above. */
typedef int (*dc_action_fn)(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host);

/* The full form. Every callback may be NULL. `state` is what init stored, NULL without an init: it belongs to the plugin. What is not said
 * of threads, calls, views and codes is in the rules at the top. */
typedef struct dc_plugin_t {
  uint32_t abi;        /* DC_PLUGIN_ABI */
  uint32_t size_bytes; /* sizeof(dc_plugin_t) */
  const char* name;    /* for the reader of the plugin: messages name it as the XML does */
  /* At start-up, before the first client is served: check settings, folders, codecs; refuse what cannot work later.
   *   Owns     `host` is the server's and valid until finalize. What init stores in `*state` is the plugin's, until its finalize.
   *   Collective  no: where the start of another server fails, its init is never called.
   *   Returns  a negative code ends the start, with either policy: dc_initialize or dc_mpi_initialize returns it. No other callback of
   *            this plugin follows, so it frees what it made; plugins before it get their finalize. */
  int (*init)(const dc_host_t* host, void** state);
  /* For each event the XML binds to this plugin. `step` is the one that the event belongs to, as far as it has arrived.
   *   Returns  a negative code by policy; clients hear of it at a later end of step. */
  int (*on_event)(void* state, const dc_event_t* event, const dc_step_t* step);
  /* For every complete step, in step order, also one without datasets; once, or as long as it returns DC_AGAIN or DC_WAIT. Storage
   * elements of the XML come before plugin elements.
   *   Returns  DC_OK: of a storage, the step is durable: fsynced under its final names. A negative code: this step is over for
   *            this plugin, the others still get it; of a storage, `last_durable` of dc_status stays where it is for the rest of the run,
   *            and the blocks are released nevertheless: what may succeed later is to be tried again with DC_WAIT. DC_AGAIN, DC_WAIT. */
  int (*on_step)(void* state, const dc_step_t* step);
  /* Once at the end, when all steps are processed; frees `state`; also of a plugin that was switched off. Not after a fault that ended
   * the server, nor in a fork of it.
   *   Returns  a negative code is a failure of the run, or with policy="disable" a notice, but for a storage plugin. Clients hear of it
   *            as long as they are not gone, from dc_finalize. */
  int (*finalize)(void* state);
  /* For each message that the plugin on server `from` has sent; between other callbacks, never inside one. `data` is the server's,
   * `bytes` long, of no alignment, valid during the callback.
   *   Returns  a negative code by policy. */
  int (*on_message)(void* state, int from, const void* data, uint64_t bytes);
  /* Storage only, and not in the tables of older plugins: fills read->data from an earlier run. Between other callbacks, never inside
   * one; on_step may have more to do. The first storage that has the callback is asked.
   *   Returns  DC_OK when all of read->data is filled. Any negative code goes with its sentence to the client that asks, from dc_read, and
   *            is no failure of this run: DC_E_NOT_STORED for what is not there. What it left in read->data is not used. */
  int (*on_read)(void* state, const dc_read_t* read);
  /* Storage only: sets `*step` to the last complete step that the earlier run stored, of this variable, or of any when it is NULL.
   *   Returns  as on_read, from dc_last_step: DC_E_NOT_STORED when there is none. */
  int (*on_last_step)(void* state, const dc_variable_info_t* variable, int64_t* step);
  /* Of the steps up to `step` this server brings no other than on_step has had: its clients have ended them without a write,
   * but for those that the host lists as lost. `step` grows from call to call; INT64_MAX after the last one. Between other callbacks; what
   * it sends still arrives.
   *   Returns  a negative code by policy. */
  int (*on_passed)(void* state, int64_t step);
  /* When the server has nothing else to do, after other callbacks of this plugin: for work that nobody waits for, in pieces of some
   * milliseconds, as events wait meanwhile. What is left at the end is finalize's.
   *   Returns  DC_AGAIN: there is more; called again as soon as there is nothing else to do. DC_WAIT: the same, but after some
   *            milliseconds. DC_OK: not before this plugin has had another callback. A negative code by policy. */
  int (*on_idle)(void* state);
} dc_plugin_t;

/* The entry of a plugin in the full form, called once, when the server loads it. Each plugin in this form defines it:
 * DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) { ... }
 *   Owns     the plugin owns the table, which must stay valid until the server ends.
 *   Returns  the table. NULL, another `abi` or a `size_bytes` below the first version's ends the start with DC_E_VERSION; a shared object
 *            that cannot be loaded or has no such function with DC_E_PLUGIN. */
typedef const dc_plugin_t* (*dc_plugin_entry_fn)(void);
#define DC_PLUGIN_ENTRY "damaris_plugin"

#ifdef __cplusplus
}
#endif
#endif
