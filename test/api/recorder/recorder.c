/* Implements recorder.h: each function of the C interface that the tests reach.
 * Used by: the executables of ../fortran and ../cpp, in which these definitions come before those of libdamaris.
 * Before it: module damaris or damaris.hpp. After it: the assertions.
 */
#include "recorder.h"

#include <string.h>

struct record recorded;
struct answer answer;

static int note(const char* function, const char* name, int64_t step) {
  memset(&recorded, 0, sizeof recorded);
  strncpy(recorded.function, function, sizeof recorded.function - 1);
  strncpy(recorded.name, name, sizeof recorded.name - 1);
  recorded.step = step;
  return answer.code;
}

static int note_list(const char* function, const char* name, int ndims, const int64_t* list) {
  const int code = note(function, name, 0);
  recorded.ndims = ndims;
  memcpy(recorded.extents, list, (size_t)ndims * sizeof *list);
  return code;
}

static void note_array(int32_t block, dc_type type, const void* data, int ndims, const int64_t* extents, const ptrdiff_t* strides) {
  recorded.block = block;
  recorded.type = (int)type;
  recorded.address = data;
  recorded.ndims = ndims;
  for (int i = 0; i < ndims; i++) {
    recorded.extents[i] = extents[i];
    recorded.strides[i] = strides == NULL ? 0 : strides[i];
  }
}

int dc_initialize(const char* config, int id) { return note("initialize", config, id); }
int dc_finalize(void) { return note("finalize", "", 0); }

int dc_write_typed(const char* variable, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                   const int64_t* extents, const ptrdiff_t* strides_bytes) {
  const int code = note("write_typed", variable, step);
  note_array(block, type, data, ndims, extents, strides_bytes);
  return code;
}

int dc_read_typed(const char* variable, int64_t step, int32_t block, dc_type type, void* data, int ndims, const int64_t* extents,
                  const ptrdiff_t* strides_bytes) {
  const int code = note("read_typed", variable, step);
  note_array(block, type, data, ndims, extents, strides_bytes);
  return code;
}

int dc_last_step(const char* variable, int64_t* step) {
  if (answer.code >= 0) *step = answer.parameter;
  return note("last_step", variable == NULL ? "any variable" : variable, 0);
}

int dc_variable(const char* variable, dc_variable_t** handle) {
  *handle = (dc_variable_t*)&recorded;
  return note("variable", variable, 0);
}

int dc_write_to_typed(dc_variable_t* handle, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                      const int64_t* extents, const ptrdiff_t* strides_bytes) {
  const int code = note("write_to_typed", handle == (dc_variable_t*)&recorded ? "the handle" : "another handle", step);
  note_array(block, type, data, ndims, extents, strides_bytes);
  return code;
}

int dc_get_layout(const char* variable, dc_layout_t* layout) {
  *layout = answer.layout;
  return note("get_layout", variable, 0);
}

int dc_alloc(const char* variable, int64_t step, int32_t block, void** data) {
  const int code = note("alloc", variable, step);
  recorded.block = block;
  *data = answer.block;
  return code;
}

int dc_alloc_typed(const char* variable, int64_t step, int32_t block, dc_type type, dc_layout_t* reserved, void** data) {
  const int code = dc_alloc(variable, step, block, data);
  recorded.type = type;
  if (code >= 0) *reserved = answer.layout;
  return code;
}

int dc_commit(const char* variable, int64_t step, int32_t block) {
  const int code = note("commit", variable, step);
  recorded.block = block;
  return code;
}

int dc_signal(const char* name, int64_t step) { return note("signal", name, step); }
int dc_end_iteration(int64_t step) { return note("end_iteration", "", step); }

int dc_flush(int64_t step, int timeout_ms) {
  const int code = note("flush", "", step);
  recorded.value = timeout_ms;
  return code;
}

int dc_status(dc_status_t* status) {
  *status = (dc_status_t){.last_complete = 1,
                          .last_durable = 2,
                          .buffer_bytes = 3,
                          .buffer_used_bytes = 4,
                          .largest_hole_bytes = 5,
                          .events_waiting = 6,
                          .writes = 7,
                          .waits = 8,
                          .first_error = -9};
  return note("status", "", 0);
}

int dc_set_parameter(const char* name, int64_t value) {
  const int code = note("set_parameter", name, 0);
  recorded.value = value;
  return code;
}

int dc_get_parameter(const char* name, int64_t* value) {
  *value = answer.parameter;
  return note("get_parameter", name, 0);
}

int dc_set_shape(const char* name, int ndims, const int64_t* extents) { return note_list("set_shape", name, ndims, extents); }
int dc_set_position(const char* name, int ndims, const int64_t* offsets) { return note_list("set_position", name, ndims, offsets); }

int dc_set_time(int64_t step, double time) {
  const int code = note("set_time", "", step);
  recorded.value = (int64_t)(time * 1000);
  return code;
}

const char* dc_strerror(int code) { return code == DC_E_FULL ? "buffer full" : "another code"; }
const char* dc_last_error(void) { return "the sentence of the library"; }
