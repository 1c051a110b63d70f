/* The interface of plugins: read-only views of datasets and steps, and a versioned table of callbacks.
 * Used by: shared objects that the server loads at start-up, on its work thread; in place on a thread of the simulation.
 * Before it: the event engine. After it: the plugin's own library (HDF5, a statistics code, ...).
 *
 * Two forms. The shortest plugin is one exported function, named in the XML (`action="do_something" using="my_plugin.so"`):
 *     int do_something(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host);
 * The full form exports `const dc_plugin_t* damaris_plugin(void)` and is named by `<plugin name=... using=...>` or stands behind a
 * storage element. A plugin needs only this header, and links no library of Damaris.
 *
 * Rules that hold for every callback
 *   Threads  One callback at a time, never one inside another: on the work thread of the server. In place (`dedicated cores="0"`) on
 *            whichever thread of the simulation is in a call of Damaris, which takes that much longer.
 *   Calls    A callback may call the functions of the host, and of damaris.h only dc_strerror and dc_last_error: all others return
 *            DC_E_NOT_INITIALIZED. It may use MPI only over host->communicator. If it forks, the child must end with _exit before the
 *            callback returns.
 *   Symbols  A library is loaded with RTLD_LOCAL and uses the C++ library, the allocator and the MPI of the program that loads it.
 *   Waits    The server cannot interrupt a callback. Meanwhile it receives messages and spills, except in place, but stores no other step, runs
 *            no action and answers no read. It logs a callback that takes more than 8 s. Do long work in pieces, see DC_AGAIN and DC_WAIT.
 *   Owns     The server owns all memory behind the pointers that a callback gets; valid until the callback returns, unless the struct says
 *            more. A callback writes only to read->data, `*step` and `*state`. The data of a step stay where they are until on_step is done with it.
 *   Shapes   Lists of dimensions are in C order, slowest first: for a Fortran simulation extents[0] is the extent of its last index. Of
 *            DC_MAX_DIMS places the first `ndims` of the variable are used; the others are 0.
 *   Units    extents, positions and ghost zones in elements; `bytes` and names that end in _bytes in bytes, names that end in _s in
 *            seconds.
 *   Returns  DC_OK or a negative code, which host->fail explains. Positive values other than those at DC_AGAIN count as DC_OK. A C++
 *            exception that leaves a callback counts as DC_E_PLUGIN. The server restores its floating-point environment afterwards.
 *   State    after a negative code, by `policy` of <plugins> in the XML:
 *            "disable", the default: the plugin, or the action, is switched off. Of its callbacks only finalize is still called; the run
 *            continues, and each client gets the notice DC_N_PLUGIN once.
 *            "fail-step", and a storage plugin with either policy: the plugin is called again. The first such code of a server becomes
 *            `first_error` of dc_status and the result of dc_mpi_initialize on the server's rank (damaris-server: exit status 1). Clients
 *            get a code of on_event, on_step and finalize as DC_E_EARLIER_IO; a code of on_message, on_passed and on_idle is in the log.
 *            init, on_read and on_last_step differ: see there.
 */
#ifndef DAMARIS_PLUGIN_H
#define DAMARIS_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include <damaris/damaris.h>

/* Goes before the definition of a plugin's function: exports it from the shared object under its C name. */
#ifdef __cplusplus
#define DC_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define DC_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented when a struct or callback below changes its meaning; new fields are only added at the end. The server refuses a plugin with
 * another number (DC_E_VERSION). */
#define DC_PLUGIN_ABI 1

/* How often an action runs for one signal. CORE: once for each sender, at once. NODE: once, when all clients of this server have sent it.
 * GLOBAL: once on every server, when all clients of the run have sent it, in an order that is the same on all servers. */
typedef enum dc_scope { DC_SCOPE_CORE = 0, DC_SCOPE_NODE = 1, DC_SCOPE_GLOBAL = 2 } dc_scope;

/* One member of a compound type. */
typedef struct dc_field_t {
  const char* name;      /* as in the XML; the server owns it; valid from init to finalize */
  dc_type type;          /* never DC_COMPOUND */
  int64_t count;         /* number of elements: more than 1 for a member that is a small array */
  uint64_t offset_bytes; /* from the beginning of the compound */
} dc_field_t;

/* How precisely the storage must keep the values of a variable. */
typedef enum dc_precision {
  DC_EXACT = 0,          /* bit for bit */
  DC_ROUND_ABSOLUTE = 1, /* with an error of at most `bound`, in the variable's unit */
  DC_ROUND_RELATIVE = 2, /* with an error of at most `bound` times the value */
  DC_FLOAT16 = 3         /* quantized to 16-bit floating point with scale and offset */
} dc_precision;

/* The lossless compression of the stored bytes. */
typedef enum dc_codec { DC_CODEC_NONE = 0, DC_CODEC_DEFLATE = 1, DC_CODEC_ZSTD = 2 } dc_codec;

/* The attribute `reduce` of the XML, which a storage plugin applies. */
typedef struct dc_reduction_t {
  dc_precision precision;
  double bound;    /* of DC_ROUND_ABSOLUTE, in the variable's unit, or DC_ROUND_RELATIVE, below 1, without a unit; more than 0 */
  int has_packing; /* of DC_FLOAT16: 1: with `scale` and `offset` below; 0: with a scale and an offset that fit the values */
  double scale, offset; /* value = 16-bit number * scale + offset, both in the variable's unit */
  int keep_on_overflow; /* when a value overflows 16 bits: 1: the dataset keeps its type; 0: the dataset is not stored */
  dc_codec codec;
  int level; /* of the codec: deflate 1 (fast) to 12 (small), zstd 1 to 19; 0 without a codec */
} dc_reduction_t;

/* The declaration of a variable in the XML. The server owns it and all memory that it points to; valid from init to finalize. Texts end
 * with a zero byte and are never NULL. */
typedef struct dc_variable_info_t {
  uint32_t id;             /* index in host->variables, from 0, the same on all processes */
  const char* name;        /* without groups */
  const char* path;        /* "group/subgroup/name" */
  const char* layout;      /* name of the layout */
  const char* unit;        /* of the values, as in the XML; "" when not given */
  const char* description; /* "" when not given */
  dc_type type;
  uint64_t element_bytes;   /* of one element */
  const char* type_name;    /* as in the XML; for a compound its name */
  int field_count;          /* of `fields`; 0 unless `type` is DC_COMPOUND */
  const dc_field_t* fields; /* in the order of memory */
  int ndims;                /* 1 to DC_MAX_DIMS; 1 for a scalar, which has one element */
  int fortran_order;        /* 1: the XML lists the fastest dimension first; the views below are in C order nevertheless */
  int has_global;           /* 1: `global` of its datasets and reads is set */
  dc_reduction_t reduction;
  const char* reduce; /* its text in the XML, "" for none */
  /* Ids of the variables with the coordinates of a rectilinear mesh, one per dimension in C order. */
  int coordinate_count; /* ndims on a rectilinear mesh, else 0 */
  const uint32_t* coordinates;
  int priority;               /* variables with a larger one are stored first; 0 without one in the XML */
  int64_t chunk[DC_MAX_DIMS]; /* extents of a chunk in the files, in elements, C order; all 0: the storage chooses */
} dc_variable_info_t;

/* One dataset: a block of one variable from one client. Dimensions in C order (slowest first), in elements. The server owns it and its
 * data; valid during the callback. */
typedef struct dc_dataset_t {
  const dc_variable_info_t* variable; /* compare `id`, not the address: with reduce-on-full it lies outside host->variables */
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
  int has_checksum;  /* 1: the client computed `checksum` when it published the block, or the server when it spilled it */
  uint32_t checksum; /* CRC-32 of `data` */
} dc_dataset_t;

/* A request of a client for data that an earlier run stored: the interior of one block of a step, without ghost zones. With a position it
 * is a part of the global array, whichever client wrote it; without one it is the block that this source wrote. Dimensions in C order, in
 * elements. The server owns it and its data; valid during the callback. */
typedef struct dc_read_t {
  const dc_variable_info_t* variable;
  int64_t step;
  int32_t source; /* id of the client that reads */
  int32_t block;
  int64_t extents[DC_MAX_DIMS];  /* of the interior */
  int has_position;              /* 1: `position` is known */
  int64_t position[DC_MAX_DIMS]; /* of the interior in the global array, zero-based; only with has_position */
  int64_t global[DC_MAX_DIMS];   /* global extents; only with variable->has_global */
  void* data;                    /* to be filled, contiguous, in C order; uninitialised; valid during the callback */
  uint64_t bytes;                /* of `data`: element_bytes times all extents */
  /* Without a position: the elements of the stored block before and behind those requested, in each dimension. 0 except for an array that is
   * larger than the client's buffer, which is requested in parts. */
  int64_t before[DC_MAX_DIMS], behind[DC_MAX_DIMS];
} dc_read_t;

/* One step of this server's clients, as far as the server has received it when the callback runs. The server owns it and all memory that it
 * points to; valid during the callback. A pointer to an empty list may be NULL. */
typedef struct dc_step_t {
  int64_t step;
  int has_time; /* 1: `time` is known */
  double time;  /* physical time from dc_set_time, in the simulation's unit */
  int complete; /* 1 in on_step; 0 in on_event and actions, also of a global event that runs after the step has completed */
  size_t dataset_count;
  const dc_dataset_t* datasets; /* ordered by variable id, source, block; a storage does not get variables with store="false" */
  size_t client_count;          /* number of clients that this server expects, attached or not */
  size_t absent_count;          /* of `absent`: clients that ended the step without a write; 0 until the step is complete */
  const int32_t* absent;        /* their ids, ascending */
  size_t missing_count;         /* of `missing`: clients that died before they ended the step; 0 until the step is complete */
  const int32_t* missing;       /* their ids, ascending */
  double age_s;                 /* in on_step seconds since its last client ended it; else 0 */
  size_t skipped_count;         /* of `skipped`: variables of which on-full left out writes in this step */
  const uint32_t* skipped;      /* their ids, ascending */
  int dropped;                  /* 1: on-full dropped the rest of the step; 0: it skipped single variables, if any */
  int reduced;                  /* 1: variables with a reduce-on-full have that as their reduction */
  uint64_t waits;               /* number of writes that waited for room, of the clients that have ended the step */
  uint64_t spilled_bytes;       /* of data that the server moved out of the buffer before they were stored */
  int urgent; /* in on_step, 1: a plugin that waits for its turn should write now, because a client waits for room, for a flush or for the
                 end, or the next step is already complete */
  size_t never_attached;       /* in on_step: number of clients without service, which came too late or had a duplicate id */
  size_t refused_count;        /* of `refused`, at most 21 */
  const char* const* refused;  /* a sentence for each block that the server refused or lost; after 20 one with their number */
  size_t plugin_failure_count; /* in on_step of a storage: of `plugin_failures`, other plugins' failures since the step before */
  const char* const* plugin_failures; /* a sentence for each */
  int ending; /* in on_step, 1: all clients have left, or the server was asked to stop, and the time for retries is over: a storage that
                 explains DC_WAIT now is not called again */
} dc_step_t;

/* The event for which an action runs. The server owns it; valid during the callback. */
typedef struct dc_event_t {
  const char* name; /* as in the XML */
  int64_t step;
  dc_scope scope;
  int32_t source;    /* id of the sender for scope core, else -1 */
  uint32_t instance; /* 0 for a client's first signal of this name in this step, 1 for its second, ... */
  uint64_t order;    /* from 0; global scope: its number in the order that all servers share; else a counter of this server */
} dc_event_t;

/* One setting of the XML element of a plugin: attribute name and value, both text as in the XML. The server owns it; valid from init to
 * finalize. */
typedef struct dc_setting_t {
  const char* key;
  const char* value;
} dc_setting_t;

/* Values that on_step may return besides a dc_code. The server answers reads and handles messages of other servers, and then calls on_step
 * with the same step again, until it gets a code. Actions may run between two calls. So a plugin does long work in pieces,
 * and one that waits for its turn delays no client. Plugins that follow it in the XML get the step afterwards. In
 * place the client's dc_end_iteration waits meanwhile, at most the XML's finalize timeout. */
enum {
  DC_AGAIN = 1000, /* more work is left: call again at once */
  /* Nothing can be done yet: call again within a few milliseconds, or after a message. From a storage that has called host->fail: the file
   * system refuses the step. It is neither stored nor given up: its data stay where they are, later steps wait, and clients that find no
   * room get DC_E_FULL. With `ending` 1 the server calls on_step no more then, leaves this step and all later ones to `damaris recover`, and
   * reports that to the clients. In place they would be lost: so on_step returns a negative code there. */
  DC_WAIT = 1001
};

/* A client that died, or whose server was asked to stop, before it finalized. */
typedef struct dc_lost_t {
  int32_t client;    /* its id */
  int64_t last_step; /* the last step that it ended; -1: none */
} dc_lost_t;

/* Functions and facts of the server, one struct for each plugin and action. The server owns it and all memory that it points to; valid
 * from init to finalize, except `clients` and `lost`, which are valid during the callback. The functions may be called only inside a
 * callback, with `self` as their first argument. They copy the texts and data that they get, wait for no other process, and return no
 * error, except `send`. */
typedef struct dc_host_t {
  uint32_t abi;            /* DC_PLUGIN_ABI of the server */
  uint32_t size_bytes;     /* of this struct; the server lacks fields beyond it */
  void* self;              /* first argument of the functions below */
  const char* simulation;  /* name from the XML */
  const char* config_file; /* path of the XML, for messages */
  const char* host_name;   /* without the domain */
  int server_index; /* 0 to server_count - 1 over the whole run; a detached server: 0 of 1; in place without MPI: id of id + 1 */
  int server_count;
  int client_count;       /* of `clients` */
  const int32_t* clients; /* ids of the clients, ascending; of a detached server those that have attached: none in init */
  size_t variable_count;
  const dc_variable_info_t* variables; /* by id */
  size_t setting_count;                /* of the element that named this plugin; 0 for an action */
  const dc_setting_t* settings;
  /* MPI_Comm* over the servers of the run, in the order of server_index; NULL without MPI. The server owns it: do not free it. Only for
   * collective calls that the plugin makes in the same order on every server. */
  const void* communicator;
  /* Writes one line to the log, if the XML's level allows it: warnings and errors without a <log> element. level: 0 error, 1 warning, 2 info,
   * 3 debug. A `text` of NULL counts as "". */
  void (*log)(void* self, int level, const char* text);
  /* Sets the sentence that explains the negative code which this callback returns. A later call replaces it. */
  void (*fail)(void* self, const char* sentence);
  /* Reports, from on_step or on_message, a file that is durable under its final name. The log lists it at level info.
   *   Units  `bytes` of the file, `raw_bytes` of its data as they were in memory. */
  void (*stored)(void* self, const char* path, uint64_t bytes, uint64_t raw_bytes);
  /* Sends a copy of `bytes` bytes, less than 2 GiB, to the same plugin on server `server`, which may be this one, where on_message gets it.
   * Messages between two servers keep their order. Those to and from server 0 that were sent by the end of the last step arrive before
   * finalize.
   *   Returns  DC_E_ARGUMENT for a server that does not exist, NULL with `bytes` above 0, or a call from an action; DC_E_NO_MPI for another
   *            process where there is no dedicated core. Nothing is sent then. */
  int (*send)(void* self, int server, const void* data, uint64_t bytes);
  const char* job;     /* the batch job, or DAMARIS_JOB; "local" without either; the same on all servers of a run */
  const char* regions; /* the common beginning of the names of the run's regions, unique to the run; "" in place */
  /* Describes, in on_step before it returns DC_WAIT, the cause of the wait, as in "which waits for its turn". The errors of clients whose
   * timeout ends meanwhile contain the text after the plugin's name. A code from on_step clears it. */
  void (*waits)(void* self, const char* text);
  /* The clients of this server that are lost, and the number of those that never attached: they are missing also from steps for which
   * on_step is not called. Up to date in on_passed and finalize. */
  size_t lost_count;
  const dc_lost_t* lost;
  size_t never_attached;
  /* A text that is the same on all servers of this run and in no other run: for names of locks, not to be stored. In place all processes of
   * one launcher, batch job or DAMARIS_JOB with the same XML form one run. */
  const char* run;
  /* Reports, from init or on_step of a storage that `damaris recover` has started, a step that the storage records as incomplete. The
   * command lists these steps. */
  void (*partial)(void* self, int64_t step);
} dc_host_t;

/* The shortest plugin: one function that the XML names as an action. The server calls it for each event that is bound to it, with the step
 * of the event, as far as it has arrived, and with a host of its own.
 *   Returns  DC_OK or a negative code, by policy as above. A missing shared object or symbol ends the start with DC_E_PLUGIN. */
typedef int (*dc_action_fn)(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host);

/* The full form. Every callback may be NULL. `state` is the pointer that init stored, NULL without an init; the plugin owns it. The rules
 * at the top cover threads, calls, views and codes. */
typedef struct dc_plugin_t {
  uint32_t abi;        /* DC_PLUGIN_ABI */
  uint32_t size_bytes; /* sizeof(dc_plugin_t) */
  const char* name;    /* for readers of the source only: messages use the name in the XML; the plugin owns it */
  /* Called at start-up, before the first client is served: checks settings, folders and codecs, and refuses what cannot work later.
   *   Owns     the server owns `host`, valid until finalize. The plugin owns what it stores in `*state`, until its finalize.
   *   Collective  no: where the start of another server fails, its init is never called.
   *   Returns  DC_OK or a negative code, which ends the start with either policy: dc_initialize or dc_mpi_initialize returns it. No other
   *            callback of this plugin follows, so it frees its memory before it returns; the plugins before it get their finalize. */
  int (*init)(const dc_host_t* host, void** state);
  /* Called for each event that the XML binds to this plugin. `step` is the step of the event, as far as it has arrived.
   *   Returns  DC_OK or a negative code, by policy; a later end of step passes it to the clients. */
  int (*on_event)(void* state, const dc_event_t* event, const dc_step_t* step);
  /* Called for every complete step, in step order, also without datasets: once, or as long as it returns DC_AGAIN or DC_WAIT. Storage
   * elements of the XML come before plugin elements.
   *   Returns  DC_OK; from a storage it means that the step is durable: fsynced under its final names. DC_AGAIN or DC_WAIT. A negative code
   *            ends the step for this plugin; the others still get it. From a storage it means that not all of the step is durable:
   *            dc_flush of this step fails from then on, and the server releases its blocks nevertheless. So a storage that may succeed
   *            later calls host->fail, returns DC_WAIT and tries again. */
  int (*on_step)(void* state, const dc_step_t* step);
  /* Called once at the end, when all steps are processed, also for a plugin that was switched off; frees `state`. Not called after a fault
   * that ended the server.
   *   Returns  DC_OK or a negative code, by policy: a failure of the run, or with policy="disable" a notice, except from a storage.
   *            dc_finalize returns it to the clients that are still attached. */
  int (*finalize)(void* state);
  /* Called for each message that the plugin on server `from` has sent; between other callbacks, never inside one. The server owns `data`:
   * `bytes` bytes without any alignment, valid during the callback.
   *   Returns  DC_OK or a negative code, by policy. */
  int (*on_message)(void* state, int from, const void* data, uint64_t bytes);
  /* Storage only, and absent from the tables of older plugins: fills read->data from an earlier run. Called between other callbacks, never
   * inside one, also while on_step has more to do. Only the first storage that has the callback is called.
   *   Returns  DC_OK when all of read->data is filled. A negative code, with its sentence, is returned by the client's dc_read and is no
   *            failure of this run: DC_E_NOT_STORED for data that the run lacks. The contents of read->data are not used then. */
  int (*on_read)(void* state, const dc_read_t* read);
  /* Storage only: sets `*step` to the last complete step in which the earlier run stored `variable`, or, for NULL, any variable.
   *   Returns  as on_read, through dc_last_step: DC_E_NOT_STORED when there is none. */
  int (*on_last_step)(void* state, const dc_variable_info_t* variable, int64_t* step);
  /* Called when no more steps up to `step` will come from this server than on_step has had: its clients have ended the others without a
   * write, except those that the host lists as lost. `step` grows from call to call; INT64_MAX after the last one. Between other callbacks.
   * Messages that it sends still arrive.
   *   Returns  DC_OK or a negative code, by policy. */
  int (*on_passed)(void* state, int64_t step);
  /* Called when the server has no other work, after other callbacks of this plugin: for work that no client waits for, in pieces of some
   * milliseconds, because messages of clients wait meanwhile. finalize does the rest at the end.
   *   Returns  DC_AGAIN to be called again as soon as the server has no other work; DC_WAIT the same, but after some milliseconds; DC_OK
   *            not to be called before this plugin has had another callback; a negative code, by policy. */
  int (*on_idle)(void* state);
} dc_plugin_t;

/* The entry of a plugin in the full form. The server calls it once, when it loads the plugin, which defines it:
 * DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) { ... }
 *   Owns     the plugin owns the table; it must stay valid until the server ends.
 *   Returns  the table. NULL, another `abi` or a `size_bytes` below that of the first version ends the start with DC_E_VERSION; a shared
 *            object that cannot be loaded or has no such function ends it with DC_E_PLUGIN. */
typedef const dc_plugin_t* (*dc_plugin_entry_fn)(void);
#define DC_PLUGIN_ENTRY "damaris_plugin"

#ifdef __cplusplus
}
#endif
#endif
