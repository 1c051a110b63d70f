/* The C interface of Damaris for simulations, in C99. It needs no MPI header; damaris_mpi.h starts a session under MPI.
 * Used by: simulation processes (clients), by one thread at a time unless the XML sets `threads`.
 * Before it: the simulation's arrays. After it: the region in shared memory, then the server on the dedicated core.
 *
 * Rules that hold for every call
 *   Returns   a dc_code (status.h): DC_OK, a negative error, which dc_last_error() explains in a sentence, or a positive notice.
 *             Each call lists the codes that its own work causes. Any call may return DC_E_NOT_INITIALIZED (no session, or a call from a
 *             plugin's callback), DC_E_FORKED, DC_E_ARGUMENT (a null pointer, a negative number, a step above 2^62), DC_E_THREADS,
 *             DC_E_MEMORY and DC_E_INTERNAL.
 *   State     A call that returns an error has had no effect, unless its comment says otherwise. One effect can remain: the first call
 *             of a step opens it and so ends the earlier steps, which frees their room. A later DC_E_FULL or DC_E_SERVER_LOST
 *             of that call leaves the step open. The call can be repeated with the same step.
 *   Memory    A call that finds none returns DC_E_MEMORY and ends the session: every further call returns DC_E_MEMORY, dc_finalize and
 *             dc_initialize included. For the server this client has died: steps that it has not ended are partial. With
 *             `dedicated cores="0"` what was not stored yet is lost.
 *   Owns      Pointers are borrowed until the call returns, unless its comment says otherwise. Names are texts that end with a zero byte.
 *   Process   Only the process that has attached may call. In a fork of it every call, dc_initialize included, returns DC_E_FORKED, and
 *             the end of the fork does not affect the session. A fork shares the memory of dc_alloc and must not write there. After
 *             vfork only exec is allowed.
 *   Threads   One thread of the process at a time, unless said otherwise. With `threads="T"` in the XML up to T threads may call at once:
 *             a thread takes one of T places with its first call that writes, allocates, commits, reads, signals, sets a time or
 *             flushes, and keeps it until the thread ends. One thread ends a step, also by the first call with a later step, or
 *             changes shapes and positions, while no other thread is in a call. No call may be made from a signal handler: the
 *             thread may be in a call, and writes that return 0 would be lost.
 *   Collective  No call is collective, except that `dedicated cores="0"` under MPI can make the end of a step collective.
 *   Waiting   Only calls that find the buffer or their lane full, and dc_read, dc_last_step, dc_log_commit, dc_flush, dc_initialize and
 *             dc_finalize wait, each wait within a bound. With `dedicated cores="0"` dc_signal and dc_end_iteration do the server's work, and so
 *             store data, before they return.
 *   Units     `step` and `block` are numbers from 0; sizes are in bytes, extents and offsets in elements, in the layout's dimension
 *             order: C order (slowest first), unless the layout has language="fortran" (fastest first, as a Fortran declaration).
 *   Names     are those of the XML: a variable inside groups is "group/variable"; the bare name is enough where it is unique.
 *   Logs      dc_append and the calls beside it belong to no step, and neither open nor end one.
 *   Steps     count upwards; a call with step j ends all earlier steps of this client. Steps of dc_read belong to an earlier run.
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

/* The highest number of dimensions of a layout. */
#define DC_MAX_DIMS 8

/* Element types. DC_COMPOUND stands for any compound type of the XML; DC_ANY disables the type check of a call. */
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

/* A handle of a variable from dc_variable, for dc_write_to. The library owns it; valid until dc_finalize. */
typedef struct dc_variable_s dc_variable_t;

/* A handle of a log from dc_log, for dc_append_to. The library owns it; valid until dc_finalize. */
typedef struct dc_log_s dc_log_t;

/* Where an append lies in its log. */
typedef struct dc_position_t {
  int64_t file;    /* of the log, counted over the servers of the run: server times files plus the file of that server */
  uint64_t offset; /* of its first byte in that file, in bytes */
} dc_position_t;

/* One of several pieces of an append. */
typedef struct dc_piece_t {
  const void* data;
  uint64_t bytes;
} dc_piece_t;

/* The layout of a variable as the next write takes it, resolved with this client's parameters and shapes. */
typedef struct dc_layout_t {
  dc_type type;
  uint64_t element_bytes;       /* of one element */
  int ndims;                    /* 1 to DC_MAX_DIMS; a scalar has one dimension of extent 1 */
  int fortran_order;            /* 1: the layout lists its fastest dimension first */
  int64_t extents[DC_MAX_DIMS]; /* in elements, ghost zones included, in the layout's dimension order */
  uint64_t bytes;               /* of the whole block: element_bytes times all extents */
} dc_layout_t;

/* The state that dc_status returns. Sizes in bytes; step -1 means "no step yet". */
typedef struct dc_status_t {
  int64_t last_complete; /* highest step such that it and all earlier ones are complete on this node group */
  int64_t last_durable;  /* highest step that is fsynced under its final name; so are all earlier ones that were not given up */
  uint64_t buffer_bytes; /* this client's share of the buffer */
  uint64_t buffer_used_bytes;  /* of buffer_bytes, in blocks not yet released; of other threads as of their last write */
  uint64_t largest_hole_bytes; /* data that the calling thread can write now; with `threads`, 0 for a thread without a place */
  uint64_t events_waiting;     /* messages of this client that the server has not taken: writes, signals, ends of steps, ... */
  uint64_t writes;             /* successful writes and commits of this client */
  uint64_t waits;              /* writes and reads of this client that found no room in the buffer and waited */
  uint64_t skipped;            /* writes and commits of this client that returned DC_N_SKIPPED */
  uint64_t dropped;            /* writes and commits of this client that returned DC_N_DROPPED */
  uint64_t reduced_steps;      /* steps of the node group that were stored with reduce-on-full */
  uint64_t spilled_bytes;      /* data that the server has moved from the buffer to node-local files so far */
  int first_error;             /* first error of storage, plugins or lost clients in the node group, a dc_code; 0: none */
} dc_status_t;

/* Attaches this process as client `id` to the detached server of its node. The first client starts that server if none runs and the XML
 * allows it. With `dedicated cores="0"` this process does the server's work itself.
 *   config   path of the XML file.
 *   id       unique among the clients of the run, 0 or more, usually the rank; the `source` of this client's datasets.
 *   Waits    at most the XML's attach timeout, in seconds unless the XML gives a unit; without a bound for a disk that hangs, as open(2).
 *   Returns  DC_E_CONFIG for the XML, or when the server already has all of its clients; DC_E_CONFIG_MISMATCH, DC_E_REGION_IN_USE when the
 *            node's server serves another run, DC_E_SHM, DC_E_VERSION, DC_E_DUPLICATE for an id in use, DC_E_TIMEOUT,
 *            DC_E_ALREADY_INITIALIZED, DC_E_SERVER_LOST when the server that it started ended at once. The start of a server adds
 *            DC_E_STALE_REGION, DC_E_REGION_IN_USE when a dead server has left data and a client of it lives, DC_E_NO_OUTPUT,
 *            DC_E_PLUGIN and the codes that a plugin's init returns. After an error the process is not attached and may call again. */
DC_MUST_CHECK int dc_initialize(const char* config, int id);

/* Ends all steps of this client, waits until its published data are durable, and detaches. The last clients of a server to call it also
 * wait until that server's plugins have ended: of a run with one server, the views are then written.
 *   Waits    at most the XML's finalize timeout, in seconds unless the XML gives a unit.
 *   Returns  DC_E_EARLIER_IO with all storage errors that no call has returned yet, DC_E_NOT_COMMITTED, DC_E_TIMEOUT, DC_E_SERVER_LOST,
 *            DC_N_PLUGIN, or DC_N_VIEWS_FOLLOW if the plugins took longer than three quarters of that timeout; with `dedicated cores="0"`
 *            also the error of a plugin's finalize. The client is always detached afterwards, except after DC_E_FORKED and in a plugin's
 *            callback. */
DC_MUST_CHECK int dc_finalize(void);

/* Copies `data` into the region as block 0 of `variable` at `step` and publishes it to the server. `data` may be reused at once.
 *   data     contiguous, with as many elements as the layout's extents, ghost zones included, in the layout's dimension order. The call
 *            checks neither its type nor its size: dc_write_typed does.
 *   Waits    at most the XML's buffer timeout for a full lane, and again for room in the buffer.
 *   Returns  DC_N_DISABLED, DC_N_NOT_DUE, or, where on-full allows it, DC_N_SKIPPED or DC_N_DROPPED: nothing is copied.
 *            DC_E_UNKNOWN_NAME; DC_E_BACKWARD; DC_E_DUPLICATE for a second write of the block by the same thread (the server refuses one
 *            by another thread, and a later end of step returns DC_E_EARLIER_IO); DC_E_SHAPE for a position outside the global array
 *            or parameters that give no valid shape; DC_E_TOO_LARGE, DC_E_ITERATION_TOO_LARGE; DC_E_FULL after the wait;
 *            DC_E_SERVER_LOST, detected only when a step opens and during the wait. */
DC_MUST_CHECK int dc_write(const char* variable, int64_t step, const void* data);

/* dc_write for block `block` (0 or more) of a client that has several blocks of one variable, each with the layout's elements.
 *   Returns  as dc_write. */
DC_MUST_CHECK int dc_write_block(const char* variable, int64_t step, int32_t block, const void* data);

/* dc_write_block with a check of the array against the layout. DC_WRITE and the C++ and Fortran interfaces call it.
 *   type           the element type, or DC_ANY for no check.
 *   extents        NULL to trust the layout, else `ndims` extents in elements, in the layout's dimension order, which must equal those of
 *                  the layout.
 *   strides_bytes  NULL for contiguous data, else `ndims` strides in bytes, in the layout's dimension order: the distance from an element
 *                  to the next one of that dimension, negative for a reversed one. So the interior of an array with a halo is
 *                  written without a copy of its own. `data` is the address of element (0, 0, ...).
 *   With strides, element (i, j, k) of the array becomes element (i, j, k) of the layout, whatever the memory order of either. A flat
 *   array (`ndims` 1, no strides) fits a layout of any number of dimensions with as many elements.
 *   Returns  as dc_write; DC_E_TYPE for another element type, DC_E_SHAPE for another number of dimensions or other extents. */
DC_MUST_CHECK int dc_write_typed(const char* variable, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                                 const int64_t* extents, const ptrdiff_t* strides_bytes);

/* Reserves block `block` of `variable` at `step` in the region, so that the simulation computes in place and dc_commit publishes without a
 * copy.
 *   data     `*data` gets the address of uninitialised memory, aligned to 64 bytes, with the elements and the order that dc_write
 *            takes. After an error it is NULL; it keeps its value when the name, the session or the thread was refused.
 *   Owns     the caller owns the memory until dc_commit of the same (variable, step, block), by the same thread. The end of the step
 *            cancels what is not committed and returns DC_E_NOT_COMMITTED. With a notice (DC_N_DISABLED, DC_N_NOT_DUE, DC_N_SKIPPED,
 *            DC_N_DROPPED) `*data` is private memory of this process: dc_commit, a second dc_alloc of the block or the end of
 *            the step frees it. A program may treat both cases alike, or leave out the commit after a notice: a refused block
 *            counts as omitted either way.
 *   Returns  as dc_write. */
DC_MUST_CHECK int dc_alloc(const char* variable, int64_t step, int32_t block, void** data);

/* dc_alloc with a check of the element type. It also returns the layout of the reserved block, which can differ from an earlier
 * dc_get_layout, because parameters take effect with the first write of a step. The C++ and Fortran interfaces call it.
 *   reserved  gets the layout, extents in elements; keeps its value after an error.
 *   Returns   as dc_alloc; DC_E_TYPE for another element type. */
DC_MUST_CHECK int dc_alloc_typed(const char* variable, int64_t step, int32_t block, dc_type type, dc_layout_t* reserved,
                                 void** data);

/* Publishes the block that dc_alloc reserved.
 *   Owns     the server owns the memory afterwards: the pointer must not be used any more.
 *   Threads  the thread that called dc_alloc.
 *   Waits    at most the XML's buffer timeout, for a full lane.
 *   Returns  the notice of dc_alloc; DC_N_DISABLED or DC_N_NOT_DUE also without a dc_alloc. DC_E_UNKNOWN_NAME; DC_E_NOT_ALLOCATED without
 *            such a dc_alloc, after a first dc_commit and after the end of the step; DC_E_FULL and DC_E_SERVER_LOST, detected only
 *            during the wait: the block is still the caller's, and dc_commit can be called again. */
DC_MUST_CHECK int dc_commit(const char* variable, int64_t step, int32_t block);

/* Looks a variable up for dc_write_to, which then needs no look-up.
 *   Owns     the library owns `*handle`; valid until dc_finalize, for every thread.
 *   Returns  DC_E_UNKNOWN_NAME, whose sentence suggests the nearest name; `*handle` keeps its value. */
DC_MUST_CHECK int dc_variable(const char* variable, dc_variable_t** handle);

/* dc_write through a handle, with `data` of the layout's elements. Once the step is open, a write takes no lock and allocates nothing; it
 * makes a system call only to wake the server when the lane or the arena becomes more than half full, or to wait for room. With
 * split="shared" it takes the pool's lock.
 *   Returns  as dc_write; DC_E_ARGUMENT for a handle that is not a variable of this session. The check is by address, so a handle of an
 *            earlier session must not be used. */
DC_MUST_CHECK int dc_write_to(dc_variable_t* handle, int64_t step, const void* data);

/* dc_write_typed through a handle: `extents` in elements, `strides_bytes` in bytes. A block other than 0 allocates some bytes of memory.
 *   Returns  as dc_write_typed; DC_E_ARGUMENT as dc_write_to. */
DC_MUST_CHECK int dc_write_to_typed(dc_variable_t* handle, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                                    const int64_t* extents, const ptrdiff_t* strides_bytes);

/* Fills `data` with the values of `variable` (block 0) at `step` that the run of restart="..." in the XML stored. Opens and ends no step.
 *   data      the array that dc_write would take now: as many elements as the layout has, contiguous, in the layout's dimension order. Its
 *             ghost zones keep their values. Rounded or quantized values come back as they were stored, all others bit for bit.
 *   Position  with dc_set_position the call reads that part of the global array, whichever client wrote it, so that a different number
 *             of processes can continue the run; without one, the block of the client with this id, which must have the same shape.
 *   Size      an array larger than this client's part of the buffer is read in parts.
 *   Waits     for a full lane and for room in the buffer, each at most the XML's buffer timeout; for the server and the storage, at most its
 *             read timeout.
 *   Returns   DC_E_NOT_STORED when the run lacks the step, or a part of the array; DC_E_CONFIG when the XML names no run; DC_E_SHAPE,
 *             DC_E_TYPE, DC_E_IO, DC_E_UNKNOWN_NAME, DC_E_TOO_LARGE, DC_E_FULL, DC_E_TIMEOUT, DC_E_SERVER_LOST, and any other code
 *             of a storage plugin. After an error `data` has its earlier values, except in parts that were read before it. */
DC_MUST_CHECK int dc_read(const char* variable, int64_t step, void* data);

/* dc_read for block `block` (0 or more) of the layout's elements. Returns as dc_read. */
DC_MUST_CHECK int dc_read_block(const char* variable, int64_t step, int32_t block, void* data);

/* dc_read_block with the array described and checked as by dc_write_typed: `ndims` extents in elements and strides in bytes, either list
 * NULL. DC_READ and the C++ and Fortran interfaces call it.
 *   Returns  as dc_read; DC_E_TYPE and DC_E_SHAPE as dc_write_typed. */
DC_MUST_CHECK int dc_read_typed(const char* variable, int64_t step, int32_t block, dc_type type, void* data, int ndims,
                                const int64_t* extents, const ptrdiff_t* strides_bytes);

/* Sets `*step` to the last complete step in which the run of restart="..." stored `variable`, or, for NULL, any variable: the step
 * from which a simulation can continue.
 *   Waits    as dc_read.
 *   Returns  DC_E_NOT_STORED when there is no such step; DC_E_CONFIG, DC_E_IO, DC_E_UNKNOWN_NAME, DC_E_FULL, DC_E_TIMEOUT,
 *            DC_E_SERVER_LOST. After an error `*step` keeps its value. */
DC_MUST_CHECK int dc_last_step(const char* variable, int64_t* step);

/* Sends the event `name` of `step` to the server, which runs its actions by their scope. Ends all earlier steps.
 *   Waits    at most the XML's buffer timeout, for a full lane.
 *   Returns  DC_E_UNKNOWN_NAME for a name that the XML lacks; an event without an action is accepted and ignored. DC_E_BACKWARD, DC_E_FULL,
 *            DC_E_SERVER_LOST. A failure of an action is returned by a later dc_end_iteration, dc_flush or dc_finalize. */
DC_MUST_CHECK int dc_signal(const char* name, int64_t step);

/* Ends step `step` and all earlier ones for this client, also when it wrote nothing. With a dedicated core it never waits for storage.
 *   Waits    at most the XML's buffer timeout, for a full lane.
 *   Returns  with the step ended: DC_E_NOT_COMMITTED; DC_E_EARLIER_IO, the error of the lowest step up to this one that no call has returned
 *            yet; DC_N_PLUGIN if there is none; with `dedicated cores="0"` DC_E_TIMEOUT after the XML's finalize timeout, when other processes have not ended
 *            it. Without effect: DC_E_BACKWARD, DC_E_SERVER_LOST; DC_E_FULL, after which the call can be repeated. */
DC_MUST_CHECK int dc_end_iteration(int64_t step);

/* Waits until step `step` and all earlier ones are durable on this node group: in files that are fsynced under their final names.
 *   timeout_ms  the bound of the wait in milliseconds, 0 or more; a full lane adds at most the XML's buffer timeout.
 *   Returns     DC_E_NOT_ENDED when this client has not ended the step; DC_E_TIMEOUT, whose sentence names the clients that have not;
 *               DC_E_EARLIER_IO with the error of the lowest of these steps that no call has returned yet, whatever became of later steps;
 *               DC_E_NOT_COMMITTED, DC_E_FULL, DC_E_SERVER_LOST; DC_N_PLUGIN only if there is no error. The error of an earlier step is
 *               returned once, that of `step` itself each time: after DC_OK `step` is durable, and an older checkpoint may be removed. */
DC_MUST_CHECK int dc_flush(int64_t step, int timeout_ms);

/* Fills `*status` with the state of this node group and this client. Never waits: of a pool that is locked it returns what it last saw.
 *   Units    sizes in bytes, see dc_status_t.
 *   Threads  does not take one of the T places of `threads`.
 *   Returns  DC_OK also after a failed step, see first_error; DC_E_NOT_INITIALIZED, after which `*status` keeps its values. */
DC_MUST_CHECK int dc_status(dc_status_t* status);

/* Sets the integer parameter `name` for this client only. The layouts follow with the first write of a step: a step in which this client
 * has written keeps its shapes to its end.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_ARGUMENT for a constant or computed parameter, or a value outside the range of its type, or of the
 *            type of a parameter that is computed from it. After an error no parameter has changed. */
DC_MUST_CHECK int dc_set_parameter(const char* name, int64_t value);

/* Sets `*value` to the current value of the parameter `name` of this client.
 *   Returns  DC_E_UNKNOWN_NAME, after which `*value` keeps its value. */
DC_MUST_CHECK int dc_get_parameter(const char* name, int64_t* value);

/* Sets the extents of this client's next blocks of `name`, a variable, or a layout and so all its variables, in place of the layout's
 * expressions. Takes effect with the next write, also in a step that is open.
 *   extents  `ndims` extents in elements, ghost zones included, in the layout's dimension order; `ndims` 0 (`extents` may be NULL) returns
 *            to the layout's expressions. With an extent of 0 this client has no elements and no ghost zones.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions, a negative extent, a size of 2^63 bytes or more, or an
 *            extent smaller than its ghost zones. After an error no shape has changed. */
DC_MUST_CHECK int dc_set_shape(const char* name, int ndims, const int64_t* extents);

/* Fills `*layout` with the layout that the next dc_write or dc_alloc of `variable` in the open step takes. The first write of a later step
 * can change it, see dc_alloc_typed.
 *   Units    extents in elements, sizes in bytes, see dc_layout_t.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_SHAPE when the parameters give no valid shape. After an error `*layout` keeps its values. */
DC_MUST_CHECK int dc_get_layout(const char* variable, dc_layout_t* layout);

/* Sets the position of this client's next blocks of `name`, a variable or a layout, in the global array. Where all blocks of a variable
 * have a position, the server joins them. A position can be changed, but not removed.
 *   offsets  `ndims` zero-based offsets of the interior (without ghost zones), in elements, in the layout's dimension order.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_SHAPE for another number of dimensions or a negative offset. After an error no position has
 *            changed. A position outside the global array is refused by the write (DC_E_SHAPE). */
DC_MUST_CHECK int dc_set_position(const char* name, int ndims, const int64_t* offsets);

/* Sets the physical time of `step`; the last value that a client of the node sends is stored. Ends all earlier steps.
 *   Units    finite, in the simulation's own unit.
 *   Waits    at most the XML's buffer timeout, for a full lane.
 *   Returns  DC_E_ARGUMENT for a time that is not finite; DC_E_BACKWARD, DC_E_FULL; DC_E_SERVER_LOST, detected only when a step opens and
 *            during the wait. */
DC_MUST_CHECK int dc_set_time(int64_t step, double time);

/* Looks a log up, a <stream-log> of the XML, for dc_append_to, which then needs no look-up.
 *   Owns     the library owns `*handle`; valid until dc_finalize, for every thread.
 *   Returns  DC_E_UNKNOWN_NAME, whose sentence suggests the nearest name; `*handle` keeps its value. */
DC_MUST_CHECK int dc_log(const char* log, dc_log_t** handle);

/* Appends `bytes` bytes to the stream that this thread of this client has in `log`. Several clients share few files; the order within a
 * stream is kept. `data` may be reused at once.
 *   where    gets the place of the first byte, which is known at once and does not change; may be NULL. 0 bytes append nothing.
 *   Waits    at most the XML's buffer timeout for a full lane, and again for room in the buffer. If the log has buffered="false", at most as
 *            long again until the bytes are in the file; otherwise the server owns them when the call returns.
 *   Returns  DC_E_UNKNOWN_NAME; DC_E_TOO_LARGE for more than this client has of the buffer; DC_E_FULL after the wait: nothing is appended
 *            then. DC_E_SERVER_LOST: nothing is appended, but with buffered="false" the bytes may be, as 'damaris recover' shows. With
 *            buffered="false" also DC_E_TIMEOUT and DC_E_IO: the bytes are appended, but not in the file yet; do not append them again. */
DC_MUST_CHECK int dc_append(const char* log, const void* data, uint64_t bytes, dc_position_t* where);

/* dc_append through a handle: it takes no lock, allocates nothing and makes a system call only as dc_write_to does.
 *   Returns  as dc_append, with the same units; DC_E_ARGUMENT for a handle that is not a log of this session. */
DC_MUST_CHECK int dc_append_to(dc_log_t* handle, const void* data, uint64_t bytes, dc_position_t* where);

/* Appends `count` pieces as one append, in their order and without a gap.
 *   Units    bytes, see dc_piece_t.
 *   Returns  as dc_append_to; `where` is that of the first piece. */
DC_MUST_CHECK int dc_append_list(dc_log_t* handle, const dc_piece_t* pieces, int count, dc_position_t* where);

/* Reserves room for an append of up to `bytes` bytes in the region, so that the simulation fills it in place and dc_append_publish
 * appends it without a copy.
 *   data     `*data` gets the address of uninitialised memory, aligned to 64 bytes; NULL after an error.
 *   Owns     the caller owns the memory until dc_append_publish by the same thread; dc_finalize cancels what is not published.
 *   Returns  as dc_append_to; DC_E_ARGUMENT for 0 bytes. */
DC_MUST_CHECK int dc_append_alloc(dc_log_t* handle, uint64_t bytes, void** data);

/* Appends the first `bytes` bytes of what dc_append_alloc reserved. The place in the log is taken here, not by dc_append_alloc.
 *   Owns     the server owns the memory afterwards, also after DC_E_TIMEOUT, DC_E_IO and DC_E_SERVER_LOST: the pointer must not be used
 *            any more.
 *   Returns  as dc_append_to; DC_E_NOT_ALLOCATED for another address, log or thread; DC_E_ARGUMENT for more bytes than were reserved: the
 *            memory is still the caller's then, as after DC_E_FULL. */
DC_MUST_CHECK int dc_append_publish(dc_log_t* handle, void* data, uint64_t bytes, dc_position_t* where);

/* Waits until everything that this thread has appended to `log` is durable: written and fsynced, with its index.
 *   timeout_ms  the bound of the wait in milliseconds, 0 or more; a full lane or buffer adds at most the XML's buffer timeout each.
 *   Returns     DC_E_UNKNOWN_NAME; DC_E_TIMEOUT; DC_E_IO when the file system refuses it, with the reason: the server still has what was
 *               appended, tries again, and a later commit may succeed; DC_E_FULL, DC_E_SERVER_LOST: what was appended is in the region or in
 *               the files, and 'damaris recover' completes them. */
DC_MUST_CHECK int dc_log_commit(const char* log, int timeout_ms);

/* Returns a short fixed text for a code, for example "unknown name"; never NULL, also for a number that is not a dc_code.
 *   Owns     the library; valid until the program ends.
 *   Threads  any thread, at any time. */
const char* dc_strerror(int code);

/* Returns the full sentence of this thread's last error, or of its last DC_N_PLUGIN: place, cause, remedy. Never NULL; "" before the first.
 *   Owns     the library; valid until this thread's next call.
 *   Threads  any thread, at any time. */
const char* dc_last_error(void);

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* dc_write and dc_read with a check of the array's element type (C11): DC_WRITE("temperature", step, array). They return as
 * dc_write_typed and dc_read_typed; an element type that no layout has does not compile. */
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
