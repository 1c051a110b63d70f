// The path of a write: reserve -> copy -> publish. The rest of the client is in client.cpp.
#include <algorithm>
#include <cmath>

#include "client/client.hpp"
#include "codec/checksum.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/shm/block.hpp"
#include "core/shm/copy_choice.hpp"
#include "core/shm/steps.hpp"

namespace damaris::client {
namespace {

// The lists are short: a loop is faster than a call of memmove.
template <class From, class To>
inline void copy_list(int count, const From* from, To* to) {
  for (int d = 0; d < count; ++d) to[d] = static_cast<To>(from[d]);
}

void fill_lists(const Variable& variable, shm::BlockHeader& header) {
  const model::Shape& shape = variable.shape;
  const shm::Form form = variable.form;
  const shm::Lists lists(header, form);
  copy_list(shape.ndims, shape.extents, lists.extents());
  if (form.flags == 0) return;
  if (form.has(shm::kHasPosition)) copy_list(shape.ndims, variable.position, lists.position());
  if (form.has(shm::kHasGlobal)) copy_list(shape.ndims, shape.global, lists.global());
  if (form.has(shm::kHasGhost) && shape.bytes == 0) {
    // An empty block has no ghost zones.
    for (int d = 0; d < shape.ndims; ++d) {
      lists.extents()[d] = shape.interior(d);
      lists.ghost_low()[d] = lists.ghost_high()[d] = 0;
    }
  } else if (form.has(shm::kHasGhost)) {
    copy_list(shape.ndims, shape.ghost_low, lists.ghost_low());
    copy_list(shape.ndims, shape.ghost_high, lists.ghost_high());
  }
}

}  // namespace

void Client::require_block(const Variable& variable, std::int32_t block) const {
  if (block < 0) throw Error(DC_E_ARGUMENT, format("block {} of '{}' is negative; blocks count from 0", block, name_of(variable)));
}

void Client::require_type(const Variable& variable, dc_type type) const {
  if (type != DC_ANY && type != variable.type) throw_wrong_type(declared_, variable, type);
}

// For a block that will not be stored: its scratch memory has the size that the block has in the new step, so the shapes of that step
// must be valid.
void Client::require_shapes() {
  const auto lock = lock_step();
  shapes_.require_next();
}

// Checks the block against the shapes that will apply when `step` begins.
void Client::require_fits(const Wanted& wanted, std::int64_t step) {
  const model::Shape& shape = shapes_.next_shape(wanted.variable);
  if (notice_for(wanted.variable, step) != DC_OK) return;
  if (wanted.source) check_source(declared_, wanted.variable, shape, *wanted.source, step);
  shapes_.require_place(wanted.variable, shape);
  if (wanted.writer.arena.can_ever_hold(shape.bytes, wanted.variable.form)) return;
  wanted.writer.full.emplace(step, wanted.variable.id, wanted.block);
  throw_too_large(wanted.writer, wanted.variable, shape.bytes, step);
}

void Client::throw_too_large(const Writer& writer, const Variable& variable, std::uint64_t bytes, std::int64_t step) const {
  throw Error(DC_E_TOO_LARGE, format("'{}' is {} bytes in step {}, more than the {} bytes of the buffer that client {} has; {}",
                                     name_of(variable), bytes, step, writer.arena.size_bytes(), id_, larger_buffer(writer, bytes)));
}

// Each client has its share of the buffer, whatever its size.
std::string Client::larger_buffer(const Writer& writer, std::uint64_t step_bytes) const {
  constexpr double kSteps = 2;  // as 'damaris check' has it
  const double shares =
      static_cast<double>(declared_.frame->architecture.buffer_bytes) / static_cast<double>(writer.arena.size_bytes());
  const double mebibytes = kSteps * static_cast<double>(step_bytes) * shares / (1 << 20);
  return format(
      "give <buffer size=...> at least {:.0f}MiB in {}, which holds two such steps of all clients; 'damaris check' computes it "
      "for all variables",
      std::ceil(mebibytes), declared_.frame->file);
}

void Client::require_data(const Variable& variable, const void* data) const {
  if (data == nullptr && variable.shape.bytes > 0)
    throw Error(DC_E_ARGUMENT, format("argument `data` for '{}' is NULL", name_of(variable)));
}

int Client::omission_from_region(const Variable& variable, std::int64_t step) const {
  const shm::Omission decision = shm::omission_of(region_->header(), step);
  if (decision.drops()) return DC_N_DROPPED;
  return variable.on_full == model::OnFull::skip && decision.skips(variable.priority) ? DC_N_SKIPPED : DC_OK;
}

int Client::omit_write(Writer& writer, const Variable& variable, int notice) {
  writer.count_omitted(variable.id, steps_.open(), notice == DC_N_DROPPED);
  return notice;
}

// Counts at alloc, because a program may leave out the commit after a notice; a repeated alloc of the block is the same one.
void Client::omit_once(Writer& writer, const Variable& variable, std::int32_t block, int notice) {
  if (notice != DC_N_SKIPPED && notice != DC_N_DROPPED) return;
  if (writer.scratch.count({variable.id, block}) == 0) omit_write(writer, variable, notice);
}

shm::BlockHeader* Client::reserve(Writer& writer, Variable& variable, std::int64_t step, std::int32_t block, int& notice) {
  if (!variable.place_checked.load(std::memory_order_relaxed)) shapes_.check_place(variable);
  if (!writer.lane.has_room()) wait_for_lane_to_write(writer, variable, step, block);
  if (writer.seen_before(variable.id, step, block))
    throw Error(DC_E_DUPLICATE,
                format("'{}' block {} was already written in step {} by client {}; use another block number, or end the step",
                       name_of(variable), block, step, id_));
  if ((notice = omission_notice(variable, step)) != DC_OK) {
    writer.forget(variable.id, block);
    return nullptr;
  }
  shm::BlockHeader* header = writer.arena.try_reserve(variable.shape.bytes, variable.form);
  if (header == nullptr) {
    try {
      header = wait_for_block(writer, variable, step, notice);
    } catch (...) {
      writer.forget(variable.id, block);
      writer.full.emplace(step, variable.id, block);
      throw;
    }
    if (header == nullptr) {
      writer.forget(variable.id, block);
      return nullptr;
    }
  }
  writer.step_bytes += header->size_bytes.load(std::memory_order_relaxed);
  header->data_bytes = variable.shape.bytes;
  header->step = step;
  header->variable = variable.id;
  header->source = id_;
  header->block = block;
  fill_lists(variable, *header);
  return header;
}

// The slow path: no hole is large enough. Refuses at once what can never fit; otherwise waits for the server, within the buffer's time-out,
// and then, as on-full says, omits variables or the rest of the step for all clients of this server.
shm::BlockHeader* Client::wait_for_block(Writer& writer, const Variable& variable, std::int64_t step, int& notice) {
  const ThreadStateGuard thread_state;
  const std::uint64_t bytes = variable.shape.bytes;
  const shm::Form form = variable.form;
  if (!writer.arena.can_ever_hold(bytes, form)) throw_too_large(writer, variable, bytes, step);
  // True if only the open step occupies the arena: waiting is futile, unless the server spills.
  const bool spills = !declared_.frame->architecture.spill.empty();
  const auto alone = [&] { return !spills && writer.waiting_is_futile(bytes, form); };
  const auto omitted = [&] { return (notice = omission_notice(variable, step)) != DC_OK; };
  writer.count_wait();
  shm::BlockHeader* header = nullptr;
  // May be evaluated again after it was true, so it must not reserve a second block.
  const auto done = [&] {
    return header != nullptr || (header = writer.arena.try_reserve(bytes, form)) != nullptr || alone() || omitted();
  };
  wait_for_room(done);
  // The last release may have come between the two checks in done().
  if (header == nullptr) header = writer.arena.try_reserve(bytes, form);
  if (header != nullptr || omitted()) return header;
  if (variable.on_full != model::OnFull::block) {
    const bool drops = variable.on_full == model::OnFull::drop;
    shm::omit(region_->header(), step, drops ? shm::Omission::drop(step) : shm::Omission::skip(step, variable.priority));
    notice = drops ? DC_N_DROPPED : DC_N_SKIPPED;
    return nullptr;
  }
  throw_full(writer, variable, step, alone());
}

void Client::throw_full(Writer& writer, const Variable& variable, std::int64_t step, bool alone) {
  const std::uint64_t bytes = variable.shape.bytes;
  if (alone)
    throw Error(DC_E_ITERATION_TOO_LARGE,
                format("step {} of client {} is too large for the {} bytes of the buffer that it has: it uses {} of them, the "
                       "largest hole is {}, and '{}' needs {}; {}",
                       step, id_, writer.arena.size_bytes(), writer.step_bytes, writer.arena.largest_hole_bytes(variable.form),
                       name_of(variable), bytes, larger_buffer(writer, writer.step_bytes + bytes)));
  const char* const first = link_.waits_for_clients(step - 1)
                                ? "let each client end each step, also one in which it writes nothing; if it is only slow, "
                                : "";
  throw_logged(
      format("no room for '{}' ({} bytes) in step {}: waited {} ms for {}; {}enlarge <buffer size=...> or its timeout, or say what "
             "to leave out with on-full, in {}",
             name_of(variable), bytes, step, declared_.frame->architecture.buffer_timeout_ms, link_.describe(step - 1), first,
             declared_.frame->file));
}

// Logs the first one: what unwinds a program may wait for the same again, in a destructor that finalizes, before anyone sees the exception.
void Client::throw_logged(const std::string& sentence) {
  if (!full_logged_.exchange(true, std::memory_order_relaxed)) log_line(LogLevel::error, sentence);
  throw Error(DC_E_FULL, sentence);
}

void Client::wait_for_lane(Writer& writer, const Deadline& deadline) {
  const ThreadStateGuard thread_state;
  link_.ring();
  if (link_.wait_until(deadline, [&] { return writer.lane.has_room(); })) return;
  if (finalize_deadline_) throw_not_durable(shm::kNoStep);
  throw_logged(format("the lane of client {} stayed full for {} ms: waited for {}; give <lanes events=...> more in {}", id_,
                      declared_.frame->architecture.buffer_timeout_ms, link_.describe(shm::kNoStep), declared_.frame->file));
}

void Client::wait_for_lane_to_write(Writer& writer, const Variable& variable, std::int64_t step, std::int32_t block) {
  try {
    wait_for_lane(writer, lane_deadline());
  } catch (...) {
    writer.full.emplace(step, variable.id, block);
    throw;
  }
}

// Ends the previous step, for which the lane may have no room.
void Client::change_step_to_write(const Wanted& wanted, std::int64_t step) {
  change_step(step, notice_for(wanted.variable, step) == DC_OK ? &wanted : nullptr);
}

// Takes what the caller knows as arguments instead of reading the header: in a pool other clients may have overwritten it, and arguments
// stay in registers on the hot path.
void Client::publish(Writer& writer, shm::BlockHeader* block, std::int64_t step, const std::byte* data, std::uint64_t bytes) {
  shm::Message message = {};
  message.kind = shm::MessageKind::write;
  message.step = step;
  message.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_->at(0));
  if (declared_.frame->architecture.checksums) {
    block->checksum = codec::crc32(data, bytes);
    block->flags |= shm::kHasChecksum;
  }
  shm::publish_block(*block, shm::BlockState::published, writer.lane, message);  // the caller has ensured room in the lane
  writer.count_write();
  const bool half = writer.lane.more_than_half_full() || writer.arena.more_than_half_full();
  if (half && !writer.woke_server) link_.ring();
  writer.woke_server = half;
}

// First checks what does not depend on the step, because opening it ends the previous one.
inline __attribute__((always_inline)) int Client::begin_block(Writer& writer, const Variable& variable, std::int64_t step,
                                                              std::int32_t block, const Source& source) {
  if (block < 0) require_block(variable, block);
  if (source.data == nullptr && !shapes_.parameters_changed()) require_data(variable, source.data);
  require_type(variable, source.type);
  const auto wanted = [&] { return Wanted{writer, variable, block, source}; };
  open_step_to_write(step, wanted);
  if (const int notice = notice_for(variable, step); notice != DC_OK) return notice;
  begin_to_write(step, wanted);
  return DC_OK;
}

int Client::write(Variable& variable, std::int64_t step, std::int32_t block, const void* data) {
  __builtin_prefetch(&variable + 1);  // most programs write their variables in the order of the XML
  Writer& writer = own_writer();
  int notice = begin_block(writer, variable, step, block, Source{data});
  if (notice != DC_OK) return notice;
  if (data == nullptr) require_data(variable, data);
  shm::BlockHeader* header = reserve(writer, variable, step, block, notice);
  if (header == nullptr) return omit_write(writer, variable, notice);
  std::byte* const target = shm::data_of(header, variable.form);
  shm::copy_in(target, data, variable.shape.bytes);
  publish(writer, header, step, target, variable.shape.bytes);
  return DC_OK;
}

int Client::write(Variable& variable, std::int64_t step, std::int32_t block, const Source& source) {
  Writer& writer = own_writer();
  int notice = begin_block(writer, variable, step, block, source);
  if (notice != DC_OK) return notice;
  check_source(declared_, variable, source, step);
  shm::BlockHeader* header = reserve(writer, variable, step, block, notice);
  if (header == nullptr) return omit_write(writer, variable, notice);
  std::byte* const target = shm::data_of(header, variable.form);
  copy_source(target, variable, source);
  publish(writer, header, step, target, variable.shape.bytes);
  return DC_OK;
}

int Client::alloc(Variable& variable, std::int64_t step, std::int32_t block, void** data, dc_type type) {
  Writer& writer = own_writer();
  *data = nullptr;
  require_block(variable, block);
  require_type(variable, type);
  const auto wanted = [&] { return Wanted{writer, variable, block, {}}; };
  int notice = notice_for(variable, step);
  if (notice != DC_OK) require_shapes();
  open_step_to_write(step, wanted);
  begin_to_write(step, wanted);
  shm::BlockHeader* header = notice == DC_OK ? reserve(writer, variable, step, block, notice) : nullptr;
  if (header == nullptr) {
    omit_once(writer, variable, block, notice);
    *data = writer.scratch_for(variable.id, block, variable.shape.bytes, notice);
    return notice;
  }
  const Writer::Reserved handed_out = {header, step, shm::data_of(header, variable.form), variable.shape.bytes};
  writer.allocated[{variable.id, block}] = handed_out;
  *data = handed_out.data;
  return DC_OK;
}

int Client::commit(Variable& variable, std::int64_t step, std::int32_t block) {
  Writer& writer = own_writer();
  if (const auto scratch = writer.scratch.find({variable.id, block}); scratch != writer.scratch.end()) {
    const int notice = scratch->second.notice;
    writer.scratch.erase(scratch);
    return notice;
  }
  if (const int notice = notice_for(variable, step); notice != DC_OK) return notice;
  const auto found = writer.allocated.find({variable.id, block});
  if (found == writer.allocated.end() || found->second.step != step)
    throw Error(
        DC_E_NOT_ALLOCATED,
        format(
            "commit of '{}' block {} in step {}: nothing was allocated (dc_alloc of the same variable, step and block comes first)",
            name_of(variable), block, step));
  if (!writer.lane.has_room()) wait_for_lane_to_write(writer, variable, step, block);
  const Writer::Reserved committed = found->second;
  writer.allocated.erase(found);
  publish(writer, committed.header, step, committed.data, committed.bytes);
  return DC_OK;
}

}  // namespace damaris::client
