/* What a plugin of the server sees: read-only views of datasets and iterations, and a versioned table of callbacks.
 * Used by: shared objects that the server loads at start-up; called by the server's one dispatch thread only.
 * Before it: the event engine. After it: the plugin's own library (HDF5, a statistics code, ...).
 *
 * Two forms. The shortest plugin is one exported function, named in the XML (`action="do_something" using="my_plugin.so"`):
 *     int do_something(const dc_event_t* event, const dc_iteration_t* iteration, const dc_host_t* host);
 * The full form exports `const dc_plugin_t* damaris_plugin(void)` and is named by `<plugin name=... using=...>` or stands behind a
 * storage element. Callbacks return DC_OK or a negative code; they may say more with host->fail. A C++ exception that leaves a
 * callback is caught and recorded. Nothing here is a symbol to link against: this header is all a plugin needs.
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

/* Raised when a struct or callback below changes its meaning; fields are only ever added at the end. */
#define DC_PLUGIN_ABI 1

/* How often an action runs for one signal: for each sender, once for all clients of this server, or once for all of the run. */
typedef enum dc_scope { DC_SCOPE_CORE = 0, DC_SCOPE_NODE = 1, DC_SCOPE_GLOBAL = 2 } dc_scope;

/* One member of a compound type. */
typedef struct dc_field_t {
  const char* name;
  dc_type type;          /* never DC_COMPOUND */
  int64_t count;         /* elements of a small array member, 1 for a scalar */
  uint64_t offset_bytes; /* inside the compound */
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
  double bound;         /* DC_ROUND_...: more than 0; relative ones less than 1 */
  int has_packing;      /* DC_FLOAT16: 1: with the scale and offset given; 0: with those that fit the values */
  double scale, offset; /* value = 16-bit number * scale + offset */
  int keep_on_overflow; /* values that overflow 16 bits: 1: the dataset keeps its type; 0: the iteration is not stored */
  dc_codec codec;
  int level; /* of the codec: deflate 1 to 12, zstd 1 to 19 */
} dc_reduction_t;

/* What the XML says of a variable. Valid from init to finalize. */
typedef struct dc_variable_info_t {
  uint32_t id;             /* index, the same on all processes */
  const char* name;        /* without groups */
  const char* path;        /* "group/subgroup/name" */
  const char* layout;      /* name of the layout */
  const char* unit;        /* "" when not given */
  const char* description; /* "" when not given */
  dc_type type;
  uint64_t element_bytes;
  const char* type_name; /* as in the XML; for a compound its name */
  int field_count;       /* compound only, else 0 */
  const dc_field_t* fields;
  int ndims;
  int fortran_order; /* 1: the XML lists the fastest dimension first. All views below are in C order (slowest first). */
  int has_global;    /* 1: `global` extents are known */
  dc_reduction_t reduction;
  const char* reduce; /* the text of it in the XML, "" for none */
  /* On a rectilinear mesh: ids of the variables with the coordinates' values, one per dimension in C order. */
  int coordinate_count; /* ndims, else 0 */
  const uint32_t* coordinates;
  int priority;               /* larger ones are stored first; 0 when the XML does not say */
  int64_t chunk[DC_MAX_DIMS]; /* extents of a chunk in the files; all 0 when the XML leaves it to the storage */
} dc_variable_info_t;

/* One dataset: a block of one variable from one client. Dimensions in C order (slowest first), sizes in elements. */
typedef struct dc_dataset_t {
  const dc_variable_info_t* variable;
  int64_t step;
  int32_t source; /* id of the client */
  int32_t block;
  int64_t extents[DC_MAX_DIMS];    /* of the data in memory, ghost zones included */
  int64_t ghost_low[DC_MAX_DIMS];  /* elements to leave out at the low end of each dimension */
  int64_t ghost_high[DC_MAX_DIMS]; /* the same at the high end */
  int has_position;                /* 1: `position` is known */
  int64_t position[DC_MAX_DIMS];   /* of the interior in the global array, zero-based; only with has_position */
  int64_t global[DC_MAX_DIMS];     /* global extents; only with variable->has_global */
  const void* data;                /* contiguous; valid during the callback */
  uint64_t bytes;                  /* of `data`, ghost zones included */
  int has_checksum;                /* 1: the client took `checksum` when it handed the block over */
  uint32_t checksum;               /* CRC-32 of `data` */
} dc_dataset_t;

/* What a client wants back of a step that an earlier run stored: the interior of one block, without ghost zones. With a position it is a
 * part of the global array, whoever wrote it; without one it is the block that this source wrote. */
typedef struct dc_read_t {
  const dc_variable_info_t* variable;
  int64_t step;
  int32_t source; /* id of the client that asks */
  int32_t block;
  int64_t extents[DC_MAX_DIMS];
  int has_position;              /* 1: `position` is known */
  int64_t position[DC_MAX_DIMS]; /* zero-based, in the global array */
  int64_t global[DC_MAX_DIMS];   /* global extents; only with variable->has_global */
  void* data;                    /* to be filled, contiguous, slowest dimension first; valid during the callback */
  uint64_t bytes;                /* of `data` */
} dc_read_t;

/* One iteration of this server's clients, as far as the server has received it when the callback runs. */
typedef struct dc_iteration_t {
  int64_t step;
  int has_time;
  double time;  /* physical time of dc_set_time, in the simulation's unit */
  int complete; /* 1 in on_iteration, 0 while it is still open */
  size_t dataset_count;
  const dc_dataset_t* datasets; /* ordered by variable id, source, block */
  size_t client_count;          /* clients of this server */
  size_t absent_count;          /* clients that ended the step without a write */
  const int32_t* absent;        /* their ids */
  size_t missing_count;         /* clients that died before they ended the step */
  const int32_t* missing;
  double age_s;            /* on_iteration: seconds since its last client ended it */
  size_t skipped_count;    /* variables of which clients were refused writes in this step for want of room (on-full) */
  const uint32_t* skipped; /* their ids, ascending */
  int dropped;             /* 1: because the rest of the step was dropped; 0: because they may be skipped */
  int reduced;             /* 1: variables that have a reduce-on-full come with that as their reduction */
  uint64_t waits;          /* writes that waited for room */
  uint64_t spilled_bytes;  /* that were moved out of the buffer before they were stored */
  int hurry; /* on_iteration: 1: who waits for his turn should not wait any longer: a client waits for room, for a flush or for the
                   end, or the next iteration is already complete */
  size_t never_attached;       /* clients that this server does not serve: they did not come in time, or had no id of their own */
  size_t refused_count;        /* of `refused` */
  const char* const* refused;  /* sentences about data of this step that will not come, as the server refused or lost them */
  size_t plugin_failure_count; /* on_iteration of a storage plugin: other plugins that have failed since the iteration before */
  const char* const* plugin_failures; /* a sentence each */
} dc_iteration_t;

/* Why an action runs. */
typedef struct dc_event_t {
  const char* name;
  int64_t step;
  dc_scope scope;
  int32_t source;    /* the sender for scope core, else -1 */
  uint32_t instance; /* 0 for the first signal of this name in this step, 1 for the second, ... */
  uint64_t order;    /* global scope: place in the one order that all servers share, from 0; else a local count */
} dc_event_t;

/* One setting of the XML element behind a plugin: attribute name and value. */
typedef struct dc_setting_t {
  const char* key;
  const char* value;
} dc_setting_t;

/* What on_iteration may return besides a dc_code. The server takes events and calls again, with the same iteration, until it gets a code:
 * so a plugin that has much to do does it in pieces, and one that waits for its turn holds nobody up. */
enum {
  DC_AGAIN = 1000, /* there is more to do: call again at once */
  DC_WAIT = 1001   /* there is nothing to do yet: call again within a few milliseconds, or after a message */
};

/* A client that died, or whose server was told to stop, before it finalized. */
typedef struct dc_lost_t {
  int32_t client;
  int64_t last_step; /* the last one that it ended; -1: none */
} dc_lost_t;

/* Services and facts of the server. Valid from init to finalize; any function only inside a callback. */
typedef struct dc_host_t {
  uint32_t abi;            /* DC_PLUGIN_ABI of the server */
  uint32_t size_bytes;     /* of this struct */
  void* self;              /* first argument of the functions below */
  const char* simulation;  /* name from the XML */
  const char* config_file; /* path of the XML, for messages */
  const char* host_name;
  int server_index; /* 0 .. server_count-1 over the whole run */
  int server_count;
  int client_count;       /* clients of this server */
  const int32_t* clients; /* their ids; a detached server's: those that have come, so all of them once an iteration is complete */
  size_t variable_count;
  const dc_variable_info_t* variables;
  size_t setting_count; /* of the element that named this plugin */
  const dc_setting_t* settings;
  const void* communicator; /* MPI_Comm* over the servers of the run, NULL without MPI. Only for collective calls that every
                                  server's plugin makes in the same order. */
  /* Writes one line to the log. level: 0 error, 1 warning, 2 info, 3 debug. */
  void (*log)(void* self, int level, const char* text);
  /* Records the sentence that explains the error code the callback is about to return. */
  void (*fail)(void* self, const char* sentence);
  /* Tells of a file that is durable under its final name: path, bytes in the file, bytes of raw data it holds. */
  void (*stored)(void* self, const char* path, uint64_t bytes, uint64_t raw_bytes);
  /* Sends a copy of `bytes` bytes to the same plugin on server `server` (this one too), where on_message gets them. Never waits.
   * Messages between two servers keep their order. Those to and from server 0 that were sent by the end of the last iteration
   * arrive before finalize.
   *   Returns  DC_E_ARGUMENT for a server that is not there, DC_E_NO_MPI for another process where there is no dedicated core. */
  int (*send)(void* self, int server, const void* data, uint64_t bytes);
  const char* job;     /* the batch job, or DAMARIS_JOB: servers of one run have the same */
  const char* regions; /* how the names of the run's regions begin: no other run has the same; "" in place */
  /* In on_iteration, before it returns DC_WAIT: what it waits for, as in "which waits for its turn". Clients whose time is over meanwhile
   * read it behind the plugin's name. Forgotten when the iteration is done. */
  void (*waits)(void* self, const char* text);
  /* What is missing of iterations that on_iteration is not called for: clients of this server that are lost, and how many never attached.
   * Up to date in on_passed and finalize. */
  size_t lost_count;
  const dc_lost_t* lost;
  size_t never_attached;
  /* The same for all servers of this run, and for no other run: for locks, not to be stored. In place all processes of one launcher, batch
   * job or DAMARIS_JOB with the same XML are one run. */
  const char* run;
} dc_host_t;

/* The shortest plugin: one function that the XML names as an action. The views are valid during the call.
 *   Threads  the server's dispatch thread.
 *   Returns  DC_OK or a negative code, which the clients hear of as DC_E_EARLIER_IO, or with policy="disable" as the notice DC_N_PLUGIN;
 *            host->fail gives the sentence. */
typedef int (*dc_action_fn)(const dc_event_t* event, const dc_iteration_t* iteration, const dc_host_t* host);

/* The full form. Every callback may be NULL. `state` is what init stored. */
typedef struct dc_plugin_t {
  uint32_t abi;        /* DC_PLUGIN_ABI */
  uint32_t size_bytes; /* sizeof(dc_plugin_t) */
  const char* name;
  /* At start-up, before the first client is served: check settings, folders, codecs; refuse what cannot work later. A negative code ends
   * the start, with either policy. */
  int (*init)(const dc_host_t* host, void** state);
  /* For each event the XML binds to this plugin. */
  int (*on_event)(void* state, const dc_event_t* event, const dc_iteration_t* iteration);
  /* For every complete iteration, in step order, once or as long as it returns DC_AGAIN or DC_WAIT. When a storage plugin returns
   * DC_OK the iteration is durable. */
  int (*on_iteration)(void* state, const dc_iteration_t* iteration);
  /* Once at the end, when all iterations are processed; frees `state`; also of a plugin that was switched off. A negative code is a
   * failure of the run, or with policy="disable" a notice, but for a storage plugin. */
  int (*finalize)(void* state);
  /* For each message that the plugin on server `from` has sent; between other callbacks, never inside one. */
  int (*on_message)(void* state, int from, const void* data, uint64_t bytes);
  /* Storage only, and not in the tables of older plugins: fills read->data from an earlier run. Between other callbacks, never inside
   * one; on_iteration may have more to do. The code and the sentence go to the client that asks, and are no failure of this run:
   * DC_E_NOT_STORED for what is not there. */
  int (*on_read)(void* state, const dc_read_t* read);
  /* Storage only: sets `*step` to the last complete step that the earlier run stored, of this variable, or of any when it is NULL.
   * DC_E_NOT_STORED when there is none. */
  int (*on_last_step)(void* state, const dc_variable_info_t* variable, int64_t* step);
  /* Of the iterations up to `step` this server brings no other than on_iteration has had: its clients have ended them without a write,
   * but for those that the host lists as lost.
   * INT64_MAX after the last one. Between other callbacks; what it sends still arrives. */
  int (*on_passed)(void* state, int64_t step);
  /* When the server has nothing else to do, after other callbacks of this plugin: for work that nobody waits for, in pieces of some
   * milliseconds, as events wait meanwhile. DC_AGAIN: there is more; called again as soon as there is nothing else to do. DC_WAIT: the
   * same, but later. DC_OK: not before this plugin has had another callback. What is left at the end is finalize's. */
  int (*on_idle)(void* state);
} dc_plugin_t;

/* The entry of a plugin in the full form. Owns: the plugin owns the table, which must stay valid until the server ends.
 * Each plugin in this form defines it: DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) { ... } */
typedef const dc_plugin_t* (*dc_plugin_entry_fn)(void);
#define DC_PLUGIN_ENTRY "damaris_plugin"

#ifdef __cplusplus
}
#endif
#endif
