// The C functions, each wrapped in a guard. The client implements them; attach.cpp starts a session.
#include <damaris/damaris.h>

#include "api/attach.hpp"
#include "api/guard.hpp"
#include "api/session.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace {

using damaris::Error;
using damaris::api::guard;
using damaris::api::guard_write;
using damaris::client::Client;

Client& client() {
  damaris::api::Session* session = damaris::api::session();
  damaris::api::require_outside_callback();
  if (session == nullptr) damaris::api::throw_no_session();
  if (!session->is_own()) damaris::api::throw_forked(*session);
  return session->client();
}

template <class Pointer>
void require(Pointer pointer, const char* call, const char* argument) {
  if (pointer == nullptr) throw Error(DC_E_ARGUMENT, damaris::format("{}: argument `{}` is NULL", call, argument));
}

dc_variable_s& find(const char* variable, const char* call) {
  Client& c = client();
  require(variable, call, "variable");
  return c.shapes().find(variable);
}

dc_variable_s& checked(dc_variable_t* handle, const char* call) {
  if (!client().shapes().owns(handle))
    throw Error(DC_E_ARGUMENT,
                damaris::format("{}: the handle is not one of this session; get it from dc_variable after dc_initialize", call));
  return *handle;
}

dc_log_s& find_log(const char* log, const char* call) {
  Client& c = client();
  require(log, call, "log");
  return c.log(log);
}

dc_log_s& checked(dc_log_t* handle, const char* call) {
  if (!client().owns(handle))
    throw Error(DC_E_ARGUMENT,
                damaris::format("{}: the handle is not one of this session; get it from dc_log after dc_initialize", call));
  return *handle;
}

int append(dc_log_s& log, const void* data, uint64_t bytes, dc_position_t* where) {
  const dc_piece_t piece = {data, bytes};
  const dc_position_t place = client().append(log, &piece, 1);
  if (where != nullptr) *where = place;
  return DC_OK;
}

int report(const damaris::Status& report) {
  return report.code == DC_OK ? DC_OK : damaris::api::set_last_error(report.code, report.message);
}

void fill(const dc_variable_s& variable, dc_layout_t& layout) {
  layout = {};
  layout.type = variable.type;
  layout.element_bytes = variable.element_bytes;
  layout.ndims = variable.shape.ndims;
  layout.fortran_order = variable.fortran_order ? 1 : 0;
  layout.bytes = variable.shape.bytes;
  for (int d = 0; d < layout.ndims; ++d)
    layout.extents[variable.fortran_order ? layout.ndims - 1 - d : d] = variable.shape.extents[d];
}

}  // namespace

extern "C" {

int dc_initialize(const char* config, int id) {
  return guard([&] {
    require(config, "dc_initialize", "config");
    damaris::api::require_no_session();
    damaris::api::set_session(damaris::api::start_without_mpi(config, id));
    return DC_OK;
  });
}

int dc_finalize(void) {
  return guard([&] {
    client();
    const int code = guard([] { return report(damaris::api::session()->finalize()); });
    // The session always ends: after a time-out or the loss of the server there is nothing left to wait for.
    damaris::api::set_session(nullptr);
    return code;
  });
}

int dc_write(const char* variable, int64_t step, const void* data) {
  return guard_write([&] { return client().write(find(variable, "dc_write"), step, 0, data); });
}

int dc_write_block(const char* variable, int64_t step, int32_t block, const void* data) {
  return guard_write([&] { return client().write(find(variable, "dc_write_block"), step, block, data); });
}

int dc_write_typed(const char* variable, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                   const int64_t* extents, const ptrdiff_t* strides_bytes) {
  return guard_write([&] {
    return client().write(find(variable, "dc_write_typed"), step, block, {data, type, ndims, extents, strides_bytes});
  });
}

int dc_alloc(const char* variable, int64_t step, int32_t block, void** data) {
  return guard_write([&] {
    dc_variable_s& found = find(variable, "dc_alloc");
    require(data, "dc_alloc", "data");
    return client().alloc(found, step, block, data);
  });
}

int dc_alloc_typed(const char* variable, int64_t step, int32_t block, dc_type type, dc_layout_t* reserved, void** data) {
  return guard([&] {
    dc_variable_s& found = find(variable, "dc_alloc_typed");
    require(reserved, "dc_alloc_typed", "reserved");
    require(data, "dc_alloc_typed", "data");
    const int code = client().alloc(found, step, block, data, type);
    fill(found, *reserved);
    return code;
  });
}

int dc_commit(const char* variable, int64_t step, int32_t block) {
  return guard_write([&] { return client().commit(find(variable, "dc_commit"), step, block); });
}

int dc_variable(const char* variable, dc_variable_t** handle) {
  return guard([&] {
    dc_variable_s& found = find(variable, "dc_variable");
    require(handle, "dc_variable", "handle");
    *handle = &found;
    return DC_OK;
  });
}

int dc_write_to(dc_variable_t* handle, int64_t step, const void* data) {
  return guard_write([&] { return client().write(checked(handle, "dc_write_to"), step, 0, data); });
}

int dc_write_to_typed(dc_variable_t* handle, int64_t step, int32_t block, dc_type type, const void* data, int ndims,
                      const int64_t* extents, const ptrdiff_t* strides_bytes) {
  return guard_write([&] {
    return client().write(checked(handle, "dc_write_to_typed"), step, block, {data, type, ndims, extents, strides_bytes});
  });
}

int dc_read(const char* variable, int64_t step, void* data) {
  return guard([&] {
    client().read(find(variable, "dc_read"), step, 0, {data});
    return DC_OK;
  });
}

int dc_read_block(const char* variable, int64_t step, int32_t block, void* data) {
  return guard([&] {
    client().read(find(variable, "dc_read_block"), step, block, {data});
    return DC_OK;
  });
}

int dc_read_typed(const char* variable, int64_t step, int32_t block, dc_type type, void* data, int ndims, const int64_t* extents,
                  const ptrdiff_t* strides_bytes) {
  return guard([&] {
    client().read(find(variable, "dc_read_typed"), step, block, {data, type, ndims, extents, strides_bytes});
    return DC_OK;
  });
}

int dc_last_step(const char* variable, int64_t* step) {
  return guard([&] {
    Client& c = client();
    const dc_variable_s* found = variable == nullptr ? nullptr : &c.shapes().find(variable);
    require(step, "dc_last_step", "step");
    *step = c.last_step(found);
    return DC_OK;
  });
}

int dc_log(const char* log, dc_log_t** handle) {
  return guard([&] {
    dc_log_s& found = find_log(log, "dc_log");
    require(handle, "dc_log", "handle");
    *handle = &found;
    return DC_OK;
  });
}

int dc_append(const char* log, const void* data, uint64_t bytes, dc_position_t* where) {
  return guard_write([&] { return append(find_log(log, "dc_append"), data, bytes, where); });
}

int dc_append_to(dc_log_t* handle, const void* data, uint64_t bytes, dc_position_t* where) {
  return guard_write([&] { return append(checked(handle, "dc_append_to"), data, bytes, where); });
}

int dc_append_list(dc_log_t* handle, const dc_piece_t* pieces, int count, dc_position_t* where) {
  return guard_write([&] {
    dc_log_s& log = checked(handle, "dc_append_list");
    if (count < 0) throw Error(DC_E_ARGUMENT, damaris::format("dc_append_list: the number of pieces {} is negative", count));
    if (count > 0) require(pieces, "dc_append_list", "pieces");
    const dc_position_t place = client().append(log, pieces, static_cast<std::size_t>(count));
    if (where != nullptr) *where = place;
    return DC_OK;
  });
}

int dc_append_alloc(dc_log_t* handle, uint64_t bytes, void** data) {
  return guard_write([&] {
    dc_log_s& log = checked(handle, "dc_append_alloc");
    require(data, "dc_append_alloc", "data");
    *data = nullptr;
    *data = client().alloc_append(log, bytes);
    return DC_OK;
  });
}

int dc_append_publish(dc_log_t* handle, void* data, uint64_t bytes, dc_position_t* where) {
  return guard_write([&] {
    const dc_position_t place = client().publish_append(checked(handle, "dc_append_publish"), data, bytes);
    if (where != nullptr) *where = place;
    return DC_OK;
  });
}

int dc_log_commit(const char* log, int timeout_ms) {
  return guard([&] {
    dc_log_s& found = find_log(log, "dc_log_commit");
    if (timeout_ms < 0) throw Error(DC_E_ARGUMENT, damaris::format("dc_log_commit: the time-out {} ms is negative", timeout_ms));
    client().commit_log(found, timeout_ms);
    return DC_OK;
  });
}

int dc_signal(const char* name, int64_t step) {
  return guard([&] {
    Client& c = client();
    require(name, "dc_signal", "name");
    c.signal(name, step);
    return DC_OK;
  });
}

int dc_end_iteration(int64_t step) {
  return guard([&] { return report(client().end_iteration(step)); });
}

int dc_flush(int64_t step, int timeout_ms) {
  return guard([&] {
    if (timeout_ms < 0) throw Error(DC_E_ARGUMENT, damaris::format("dc_flush: the time-out {} ms is negative", timeout_ms));
    return report(client().flush(step, timeout_ms));
  });
}

int dc_status(dc_status_t* status) {
  return guard([&] {
    Client& c = client();
    require(status, "dc_status", "status");
    *status = c.status();
    return DC_OK;
  });
}

int dc_set_parameter(const char* name, int64_t value) {
  return guard([&] {
    Client& c = client();
    require(name, "dc_set_parameter", "name");
    const auto lock = c.lock_step();
    c.shapes().set_parameter(name, value);
    return DC_OK;
  });
}

int dc_get_parameter(const char* name, int64_t* value) {
  return guard([&] {
    Client& c = client();
    require(name, "dc_get_parameter", "name");
    require(value, "dc_get_parameter", "value");
    const auto lock = c.lock_step();
    *value = c.shapes().parameter(name);
    return DC_OK;
  });
}

int dc_set_shape(const char* name, int ndims, const int64_t* extents) {
  return guard([&] {
    Client& c = client();
    require(name, "dc_set_shape", "name");
    if (ndims != 0) require(extents, "dc_set_shape", "extents");
    const auto lock = c.lock_step();
    c.shapes().set_shape(name, ndims, extents);
    return DC_OK;
  });
}

int dc_set_position(const char* name, int ndims, const int64_t* offsets) {
  return guard([&] {
    Client& c = client();
    require(name, "dc_set_position", "name");
    require(offsets, "dc_set_position", "offsets");
    const auto lock = c.lock_step();
    c.shapes().set_position(name, ndims, offsets);
    return DC_OK;
  });
}

int dc_get_layout(const char* variable, dc_layout_t* layout) {
  return guard([&] {
    dc_variable_s& found = find(variable, "dc_get_layout");
    require(layout, "dc_get_layout", "layout");
    client().refresh_shapes();
    fill(found, *layout);
    return DC_OK;
  });
}

int dc_set_time(int64_t step, double time) {
  return guard([&] {
    client().set_time(step, time);
    return DC_OK;
  });
}

const char* dc_strerror(int code) { return damaris::code_text(code); }

const char* dc_last_error(void) { return damaris::api::last_error(); }

}  // extern "C"
