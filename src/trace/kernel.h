/* libdamaris_trace: decodes what the recorder wrote. Plain C functions, for ctypes and others.
 * Used by: python/damaris, one thread for each dt_trace.
 * Before it: DIR/raw/NAME.trace (slot.hpp). After it: the tables of the store.
 */
#ifndef DAMARIS_TRACE_KERNEL_H
#define DAMARIS_TRACE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One call of a process. */
typedef struct dt_call {
  uint64_t begin, end; /* ns of CLOCK_MONOTONIC */
  int64_t parent;      /* index of the call around it; -1: none, or one that had not returned when the process ended */
  int64_t offset;      /* in bytes; -1: none, or unknown. For a function without dt_offset: its `place`, see slot.hpp; -1: none */
  uint64_t bytes;
  uint32_t object, thread;
  uint16_t function;
  uint8_t depth, flags; /* dt_failed, dt_cut */
  int32_t error;        /* of a failed one, as its layer gives it: errno, an MPI error class, a negative number */
} dt_call;
enum { dt_failed = 1, dt_cut = 4 }; /* dt_cut: the process died inside; `bytes` is what was asked for */

/* Numbers as in slot.hpp: 1 about the process, 2 the path of an object, 3 a loss, 4 about an object, 5 the process's end,
 * 6 the former path of an object. dt_gap: chunks of the thread `object` are missing from `begin`, 0 if not even its first call is there,
 * to `place`.
 * `text` is not terminated. */
enum { dt_gap = 64 };
typedef struct dt_text {
  int32_t what;
  uint32_t object;
  int64_t place;
  uint64_t begin;
  const char* text;
  size_t bytes;
} dt_text;

/* A request of MPI, or what a call received beside what it sent. */
typedef struct dt_request {
  int64_t start, done; /* indices of the calls that made and completed it; done is -1 if none did */
  int64_t place;       /* of what was received, (source << 32) + tag, see slot.hpp; -1 without `done` */
  uint64_t bytes;      /* that were received */
  uint32_t flags;
} dt_request;
enum { dt_cancelled = 1, dt_released = 2, dt_half = 4 };

/* A block of a client that a call of the layers damaris and server is about; a call may have several. */
typedef struct dt_block {
  int64_t call;   /* its index */
  int64_t place;  /* (source << 32) + block */
  uint64_t bytes; /* of the block that the call moved */
  uint64_t run;   /* of its simulation */
} dt_block;

typedef struct dt_trace dt_trace;

/* What a reader knows of a function: it sets the offset of its object, it moves that by its bytes, its place is an offset. */
enum { dt_seeks = 1, dt_sequential = 2, dt_offset = 4 };
/* Chunks of a process: in `bytes` bytes of a file from `offset` on, each as long as its head says; 0 bytes: all of the file, each 1 MiB
 * long. */
typedef struct dt_piece {
  const char* path;
  uint64_t offset, bytes;
} dt_piece;

/* `roles`: of each function number below `functions`.
 * Returns NULL with a sentence in `error`, of `room` bytes, if a file cannot be read, or nothing is of the recorder. Files that are cut
 * anywhere, or have damaged bytes, give what is whole; dt_damage says what is not. Owns everything that the others return. */
dt_trace* dt_open(const dt_piece* pieces, size_t count, const uint8_t* roles, size_t functions, char* error, size_t room);
void dt_close(dt_trace* trace);
/* By thread, then by begin. */
const dt_call* dt_calls(const dt_trace* trace, size_t* count);
/* In the order in which they ended. */
const dt_request* dt_requests(const dt_trace* trace, size_t* count);
const dt_block* dt_blocks(const dt_trace* trace, size_t* count);
const dt_text* dt_texts(const dt_trace* trace, size_t* count);
/* Adds to `ns`, `bins` times `layers` of them, how long each layer was innermost in each bin of a thread's time. The calls are in order of begin,
 * those around others first; `layer` is their layer's number. Bins are `width` ns wide, from `origin` on; what lies outside counts nothing. */
void dt_paint(const int64_t* begin, const int64_t* end, const uint8_t* layer, size_t count, int64_t origin, double width,
              size_t bins, size_t layers, double* ns);
/* Two bytes for each bin: 1 + the layer that was innermost longest, 0 for none, and its share of the bin in 255ths, at least one. */
void dt_shade(const double* ns, size_t bins, double width, size_t layers, uint8_t* shades);

/* "" if the file is whole. */
const char* dt_damage(const dt_trace* trace);

#ifdef __cplusplus
}
#endif
#endif
