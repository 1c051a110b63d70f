/* libdamaris_replay: plans in virtual time. Plain C functions, for ctypes and others.
 * Used by: python/damaris, one thread for each dr_plan.
 * Before it: the text of a plan (docs/plan-format.md). After it: when each process ends, how long each operation waits.
 */
#ifndef DAMARIS_REPLAY_REPLAY_H
#define DAMARIS_REPLAY_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dr_plan dr_plan;

/* Reads a plan of `bytes` at `text`, or of the file `path`, and evaluates it.
 * Returns NULL with a sentence in `error`, of `room` bytes, that names the line: if the plan is wrong, or its operations wait for each other. */
dr_plan* dr_read(const char* text, size_t bytes, char* error, size_t room);
dr_plan* dr_open(const char* path, char* error, size_t room);
void dr_close(dr_plan* plan);

/* Units: ns since the start. The arrays belong to the plan; processes and operations are in the order of its lines. */
uint64_t dr_total(const dr_plan* plan);
uint64_t dr_recorded(const dr_plan* plan); /* what its header says; 0: nothing */
const uint64_t* dr_ends(const dr_plan* plan, size_t* processes);
const uint32_t* dr_numbers(const dr_plan* plan, size_t* processes); /* of the processes */
const uint64_t* dr_waits(const dr_plan* plan, size_t* operations);  /* for other processes */
const uint32_t* dr_lines(const dr_plan* plan, size_t* operations);

#ifdef __cplusplus
}
#endif
#endif
