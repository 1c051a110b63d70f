/* The C interface of Damaris for simulations (C99; no MPI header needed: see damaris_mpi.h for starting under MPI).
 * Used by: simulation processes (clients), by one thread at a time unless the XML gives `threads`.
 * Before it: the simulation's arrays. After it: the region in shared memory, then the server on the dedicated core.
 *
 * Rules that hold for every call
 *   Returns   a dc_code (status.h): 0, a negative error with a sentence in dc_last_error(), or a positive notice.
 *             After an error nothing of the call has taken effect, unless the call says otherwise. DC_E_FULL of a call that comes first
 *             in its step has opened that step, because ending the earlier ones is what makes room; the call can be made again.
 *             Beside the codes that it names a call may return DC_E_NOT_INITIALIZED (no session, or a plugin's callback calls),
 *             DC_E_FORKED, DC_E_ARGUMENT (a null pointer, a negative number, a step above 2^62), DC_E_THREADS, DC_E_MEMORY,
 *             DC_E_INTERNAL. Pointers are borrowed for the call unless it says `Owns`.
 *   Process   only the process that has attached may call. In a fork of it every call returns DC_E_FORKED, dc_initialize too, and its
 *             end leaves the session alone; memory of dc_alloc is shared with it, so it must not write there. After vfork only exec.
 *   Threads   unless said otherwise, one thread of the process at a time. With `threads="T"` in the XML up to T threads may call
 *             at once: a thread has one of T places from its first write, signal or flush until it ends, when the next one may
 *             have it. One thread ends a step, also by the first call with a later step, or changes shapes and positions,
 *             while the others are in no call.
 *   Collective  no call is collective, except where `dedicated cores="0"` under MPI makes an end of step so.
 *   Waiting   only a full buffer, a full lane, dc_read, dc_last_step, dc_flush, dc_initialize and dc_finalize wait, each within a
 *             bound. With `dedicated cores="0"` dc_signal and dc_end_iteration do the server's work themselves, and so store.
 *   Units     `step` and `block` are numbers from 0; sizes are in bytes, extents and offsets in elements, in the layout's dimension
 *             order: slowest first, unless the layout has language="fortran".
 *   Names     are those of the XML: a variable inside groups is "group/variable"; the bare name is enough where it is unique.
 *   Steps     count upwards; a call with step j ends all earlier steps of this client. Those of dc_read are an earlier run's.
 */
#ifndef DAMARIS_DAMARIS_H
#define DAMARIS_DAMARIS_H

#include <stddef.h>
#include <stdint.h>

#include <damaris/status.h>

#if defined(__GNUC__)
#define DC_MUST_CHECK __attribute__((warn_unused_result))
#else
#define DC_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The most dimensions a layout may have. */
#define DC_MAX_DIMS 8

/* Element types. DC_COMPOUND stands for any compound type declared in the XML; DC_ANY switches the check off. */
typedef enum dc_type {
  DC_ANY = 0,
  DC_INT8 = 1,
  DC_INT16,
  DC_INT32,
  DC_INT64,
  DC_UINT8,
  DC_UINT16,
  DC_UINT32,
  DC_UINT64,
  DC_FLOAT32,
  DC_FLOAT64,
  DC_CHAR,
  DC_COMPOUND
} dc_type;

/* A variable looked up once: the fast path of dc_write_to. Owned by the library; valid until dc_finalize. */
typedef struct dc_variable_s dc_variable_t;

/* What one write of a variable hands over now: its layout, resolved with this client's parameters and shapes. */
typedef struct dc_layout_t {
  dc_type type;
  uint64_t element_bytes;
  int ndims;
  int fortran_order;            /* 1: the layout lists its fastest dimension first */
  int64_t extents[DC_MAX_DIMS]; /* in elements, ghost zones included, in the layout's dimension order */
  uint64_t bytes;               /* of the whole block */
} dc_layout_t;

/* What dc_status tells. Sizes in bytes; -1 stands for "no step yet". */
typedef struct dc_status_t {
  int64_t last_complete;       /* highest step such that it and all earlier ones are complete on this node group */
  int64_t last_durable;        /* the same for durable (fsynced and renamed) */
  uint64_t buffer_bytes;       /* this client's share of the buffer */
  uint64_t buffer_used_bytes;  /* of it, held by blocks the server has not released; of other threads as of their last write */
  uint64_t largest_hole_bytes; /* data of any shape that the calling thread could write now; 0 for a thread that never wrote */
  uint64_t events_waiting;     /* events of this client the server has not taken yet */
  uint64_t writes;             /* successful writes and commits of this client */
  uint64_t waits;              /* how often a write found no space and had to wait */
  uint64_t skipped;            /* writes of this client that were refused because on-full lets the variable be skipped */
  uint64_t dropped;            /* writes of this client that were refused because on-full lets the step be dropped */
  uint64_t reduced_steps;      /* steps of the node group that were stored with reduce-on-full */
  uint64_t spilled_bytes;      /* that the server has moved from the buffer to node-local files so far */
  int first_error;             /* first error of the node group so far, of storage, plugins or lost clients, a dc_code; or 0 */
} dc_status_t;

/* Attaches this process as client `id` to the detached server of its node, described by the XML file `config`; starts that server
 * if the XML says so and none is there. With `dedicated cores="0"` does the server's work inside this process instead.
 *   id       unique among the clients of the run, 0 or more (usually the rank); becomes the `source` of the datasets.
 *   Waits    at most the XML's attach timeout.
 *   Returns  DC_E_CONFIG, DC_E_CONFIG_MISMATCH, DC_E_REGION_IN_USE when the node's server serves another run, DC_E_SHM, DC_E_VERSION,
 *            DC_E_DUPLICATE, DC_E_TIMEOUT, DC_E_ALREADY_INITIALIZED, DC_E_SERVER_LOST when the server it started ended at once; of the
 *            server it starts or is, also DC_E_STALE_REGION, DC_E_NO_OUTPUT, DC_E_PLUGIN or the code of a plugin's init. After an error
 *            the process is not attached and may try again. */
DC_MUST_CHECK int dc_initialize(const char* config, int id);

/* Ends all steps of this client, waits until what it published is durable, detaches.
 *   Waits    at most the XML's finalize timeout.
 *   Returns  the first storage error not yet reported (DC_E_EARLIER_IO), DC_E_NOT_COMMITTED, DC_E_TIMEOUT, DC_E_SERVER_LOST,
 *            or DC_N_PLUGIN; with `dedicated cores="0"` also the code with which a plugin ended. In every case, but for DC_E_FORKED
 *            and a call from a plugin's callback, the client is detached afterwards. */
DC_MUST_CHECK int dc_finalize(void);

/* Copies `data` (as many elements as the layout's extents, ghost zones included, contiguous, in the layout's language order;
 * neither type nor size is checked) into the region as block 0 of `variable` at `step` and tells the server. `data` may be reused at once.
 *   Returns  DC_N_DISABLED, DC_N_NOT_DUE, DC_E_UNKNOWN_NAME, DC_E_DUPLICATE, DC_E_BACKWARD, DC_E_SHAPE for a place outside the global
 *            array or parameters that make no shape, DC_E_TOO_LARGE, DC_E_ITERATION_TOO_LARGE, DC_E_FULL after the XML's buffer
 *            timeout, or DC_N_SKIPPED or DC_N_DROPPED where the XML says so with on-full; DC_E_SERVER_LOST (noticed only when a
 *            step opens and while it waits). */
DC_MUST_CHECK int dc_write(const char* variable, int64_t step, const void* data);

/* The same for block `block` (0 or more) of a client that holds several blocks of one variable. Returns as dc_write. */
DC_MUST_CHECK int dc_write_block(const char* variable, int64_t step, int32_t block, const void* data);

/* The same with the element type, which is checked against the layout (DC_E_TYPE): what DC_WRITE, C++ and Fortran call.
 *   strides_bytes  NULL for contiguous data, else one stride per dimension in bytes, in the layout's dimension order: the distance
 *                  between neighbouring elements, so that the interior of an array with a halo is written without a copy.
 *   extents        NULL to trust the layout, else the array's extents in the layout's dimension order, which must be the
 *                  resolved extents of the layout (DC_E_SHAPE); `ndims` counts both lists.
 *   An array of any strides arrives by index: element (i, j, k) of it is element (i, j, k) of the layout. A flat array (`ndims` 1, no
 *   strides) fits a layout of any dimensions that has as many elements.
 *   Returns  as dc_write; DC_E_TYPE, DC_E_SHAPE. */
DC_MUST_CHECK int dc_write_typed(const char* variable, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                                 const int64_t* extents, const ptrdiff_t* strides_bytes);

/* Hands out space for block `block` of `variable` at `step` inside the region: the simulation computes in place, nothing is
 * copied. `*data` gets the pointer, aligned to 64 bytes, uninitialised, with the shape that dc_write would take; after an error it is
 * NULL, or as it was when the name, the session or the thread was refused.
 *   Owns     the caller owns the memory until dc_commit of the same (variable, step, block), or until the step ends, which
 *            cancels it with DC_E_NOT_COMMITTED. With a notice (DC_N_DISABLED, DC_N_NOT_DUE, DC_N_SKIPPED, DC_N_DROPPED)
 *            it gets memory of its own, which dc_commit drops with the same notice: the program need not know.
 *   Returns  as dc_write. */
DC_MUST_CHECK int dc_alloc(const char* variable, int64_t step, int32_t block, void** data);

/* The same with the element type, and with the layout of what was handed out in `*reserved`: how many elements it has, which
 * dc_get_layout cannot tell before, as a first write into a step lets parameters take effect. What C++ and Fortran call.
 *   Returns  as dc_alloc; DC_E_TYPE. `*reserved` stays as it was after an error. */
DC_MUST_CHECK int dc_alloc_typed(const char* variable, int64_t step, int32_t block, dc_type type, dc_layout_t* reserved,
                                 void** data);

/* Publishes what dc_alloc handed out. The pointer is dead afterwards: the server owns the memory.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_NOT_ALLOCATED when there is no such allocation; DC_E_FULL at a full lane, DC_E_SERVER_LOST (noticed
 *            only while it waits there): nothing has happened, after DC_E_FULL call it again. The notice of dc_alloc comes once more. */
DC_MUST_CHECK int dc_commit(const char* variable, int64_t step, int32_t block);

/* Looks a variable up once and prepares it for dc_write_to. `*handle` stays as it was on failure.
 *   Owns     the library owns the handle; valid until dc_finalize.
 *   Returns  DC_E_UNKNOWN_NAME with the nearest name known. */
DC_MUST_CHECK int dc_variable(const char* variable, dc_variable_t** handle);

/* dc_write through a prepared handle: no name look-up, no lock, no allocation, no system call.
 *   Returns  as dc_write; DC_E_ARGUMENT for a handle that is not of this session. */
DC_MUST_CHECK int dc_write_to(dc_variable_t* handle, int64_t step, const void* data);

/* dc_write_typed through a prepared handle: `extents` in elements, `strides_bytes` in bytes.
 *   Returns  as dc_write_typed; DC_E_ARGUMENT for a handle that is not of this session. */
DC_MUST_CHECK int dc_write_to_typed(dc_variable_t* handle, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                                    const int64_t* extents, const ptrdiff_t* strides_bytes);

/* Fills `data` with what the run named by restart="..." in the XML stored of `variable` (block 0) at `step`. The array is the one that
 * dc_write would take now; its ghost zones stay as they are. Values that were rounded or packed come back as they were stored, all
 * others to the last bit. No step is opened or ended.
 *   Position  with a position (dc_set_position) that part of the global array is read, whoever wrote it, so that another number of
 *             processes can go on; without one, what the client of this id wrote, in the same shape.
 *   Waits     at most the XML's buffer timeout, for the server and the storage.
 *   Returns   DC_E_NOT_STORED when the step, or a part of what is asked for, is not there; DC_E_CONFIG when the XML names no run;
 *             DC_E_SHAPE, DC_E_TYPE, DC_E_IO, DC_E_UNKNOWN_NAME, DC_E_TOO_LARGE, DC_E_FULL, DC_E_TIMEOUT, DC_E_SERVER_LOST, or what else
 *             the storage answers; after an error `data` is as it was. */
DC_MUST_CHECK int dc_read(const char* variable, int64_t step, void* data);

/* The same for block `block` (0 or more). Returns as dc_read. */
DC_MUST_CHECK int dc_read_block(const char* variable, int64_t step, int32_t block, void* data);

/* The same with the array described and checked as by dc_write_typed: `extents` in elements, `strides_bytes` in bytes, either NULL. What
 * C++ and Fortran call. Returns as dc_read. */
DC_MUST_CHECK int dc_read_typed(const char* variable, int64_t step, int32_t block, dc_type type, void* data, int ndims,
                                const int64_t* extents, const ptrdiff_t* strides_bytes);

/* Sets `*step` to the last complete step of that run in which `variable` was stored, or anything when it is NULL: where a simulation
 * can go on. `*step` stays as it was after an error.
 *   Waits    as dc_read.
 *   Returns  DC_E_NOT_STORED when there is none, DC_E_CONFIG, DC_E_IO, DC_E_UNKNOWN_NAME, DC_E_FULL, DC_E_TIMEOUT, DC_E_SERVER_LOST. */
DC_MUST_CHECK int dc_last_step(const char* variable, int64_t* step);

/* Sends the event `name` to the server; its actions run there by their scope. Ends all earlier steps.
 *   Returns  DC_E_UNKNOWN_NAME for a name that is not in the XML; an event without an action is accepted and ignored. DC_E_BACKWARD,
 *            DC_E_FULL at a full lane, DC_E_SERVER_LOST. What the actions come to, a later dc_end_iteration tells. */
DC_MUST_CHECK int dc_signal(const char* name, int64_t step);

/* Ends step `step` and all earlier ones for this client, also when nothing was written. With a dedicated core it never waits for storage.
 *   Returns  the first storage error of an earlier step not yet reported (DC_E_EARLIER_IO: the step has ended nevertheless),
 *            DC_E_NOT_COMMITTED (likewise), DC_N_PLUGIN (likewise); DC_E_BACKWARD, DC_E_SERVER_LOST; DC_E_FULL at a full lane: call it
 *            again. With `dedicated cores="0"` also DC_E_TIMEOUT after the XML's finalize timeout: ended here, but not everywhere. */
DC_MUST_CHECK int dc_end_iteration(int64_t step);

/* Waits until step `step` and all earlier ones are durable on this node group: files fsynced under their final names.
 *   timeout_ms  the bound of the wait in milliseconds; a time-out names the clients that have not ended the step.
 *   Returns     DC_E_NOT_ENDED, DC_E_TIMEOUT, DC_E_EARLIER_IO with the first error of these steps, DC_E_NOT_COMMITTED,
 *               DC_E_FULL at a full lane, DC_E_SERVER_LOST, or DC_N_PLUGIN. An error comes once: DC_OK after dc_end_iteration or
 *               dc_flush has returned it is no word on that step. Before an older checkpoint is removed, compare `last_durable` of
 *               dc_status with the step. */
DC_MUST_CHECK int dc_flush(int64_t step, int timeout_ms);

/* Fills `*status` with the state of this node group and this client. Never waits.
 *   Units    sizes in bytes, see dc_status_t.
 *   Threads  a thread that only looks takes none of the T places.
 *   Returns  DC_OK also after a failed step; DC_E_NOT_INITIALIZED. */
DC_MUST_CHECK int dc_status(dc_status_t* status);

/* Sets the integer parameter `name` for this client only: layouts follow, from the first write of a step on. A step in which something
 * was written keeps its own, so the next dc_write of that step takes what the earlier ones did.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_ARGUMENT for one that is constant or computed, or a value that its type, or that of a parameter
 *            computed from it, cannot hold: no parameter has changed then. */
DC_MUST_CHECK int dc_set_parameter(const char* name, int64_t value);

/* Reads the parameter `name` as this client has it now.
 *   Returns  DC_E_UNKNOWN_NAME; `*value` stays as it was. */
DC_MUST_CHECK int dc_get_parameter(const char* name, int64_t* value);

/* Gives the extents of `name` (a variable, or a layout and so all its variables) for this client's next writes, instead of the
 * layout's expressions. `ndims` must be the layout's, or 0 to go back to the layout's own expressions (`extents` may be NULL then).
 *   Units    extents in elements, in the layout's dimension order. With an extent of 0 this client has no elements, and no ghost zones.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions, a negative extent, more bytes than 64 bits count, or less
 *            than the ghost zones. */
DC_MUST_CHECK int dc_set_shape(const char* name, int ndims, const int64_t* extents);

/* Fills `*layout` with what the next dc_write or dc_alloc of `variable` in the open step takes: shapes set so far count, and parameters
 * unless something was written in that step. In a later step they may be others: see dc_alloc_typed.
 *   Returns  DC_E_UNKNOWN_NAME, DC_E_SHAPE; `*layout` stays as it was. */
DC_MUST_CHECK int dc_get_layout(const char* variable, dc_layout_t* layout);

/* Gives the place of this client's next writes of `name` (a variable or a layout) in the global array: zero-based offsets of the
 * interior (without ghost zones) in elements, in the layout's dimension order. Where all blocks have one, the server joins them.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions or a negative offset. */
DC_MUST_CHECK int dc_set_position(const char* name, int ndims, const int64_t* offsets);

/* Gives the physical time of `step`; the last value on the node wins. Ends all earlier steps.
 *   Units    finite, in the simulation's own unit.
 *   Returns  DC_E_ARGUMENT for a time that is not finite; DC_E_BACKWARD, DC_E_FULL at a full lane, DC_E_SERVER_LOST. */
DC_MUST_CHECK int dc_set_time(int64_t step, double time);

/* A short fixed text for a code, for example "unknown name". Never NULL, also for a number that is no code.
 *   Owns     the library, for ever. Any thread, any time. */
const char* dc_strerror(int code);

/* The full sentence of this thread's last error, or of its last DC_N_PLUGIN: place, cause, remedy. Never NULL; "" before the first.
 *   Owns     the library; valid until this thread's next call. Any time. */
const char* dc_last_error(void);

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* dc_write and dc_read that know the array's element type and so refuse a wrong one (C11): DC_WRITE("temperature", step, array). */
#define DC_TYPE_OF(pointer) \
  _Generic((pointer),                                                                                                             \
      signed char*: DC_INT8, const signed char*: DC_INT8, short*: DC_INT16, const short*: DC_INT16, int*: DC_INT32,               \
      const int*: DC_INT32, long*: DC_INT64, const long*: DC_INT64, long long*: DC_INT64, const long long*: DC_INT64,             \
      unsigned char*: DC_UINT8, const unsigned char*: DC_UINT8, unsigned short*: DC_UINT16, const unsigned short*: DC_UINT16,     \
      unsigned*: DC_UINT32, const unsigned*: DC_UINT32, unsigned long*: DC_UINT64, const unsigned long*: DC_UINT64,               \
      unsigned long long*: DC_UINT64, const unsigned long long*: DC_UINT64, float*: DC_FLOAT32, const float*: DC_FLOAT32,         \
      double*: DC_FLOAT64, const double*: DC_FLOAT64, char*: DC_CHAR, const char*: DC_CHAR)
#define DC_WRITE(variable, step, array) dc_write_typed((variable), (step), 0, DC_TYPE_OF(&(array)[0]), (array), 0, NULL, NULL)
#define DC_READ(variable, step, array) dc_read_typed((variable), (step), 0, DC_TYPE_OF(&(array)[0]), (array), 0, NULL, NULL)
#endif

#ifdef __cplusplus
}
#endif
#endif
