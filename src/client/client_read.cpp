// The requests of a client that its server answers: reads, and the appends to logs. The rest of the client is in client.cpp.
//
// A read: reserve -> request -> wait for the server's answer -> copy out, once for each part that fits into the arena. The server owns the
// block until it has answered. If the client has abandoned the read, the server releases the block instead.
// An append: reserve -> copy -> take a place in the log -> publish. The place is one addition to a word in the region, so it is known at once
// and stays true.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "client/client.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/process_guard.hpp"
#include "core/base/text.hpp"
#include "core/shm/block.hpp"
#include "core/shm/copy_choice.hpp"
#include "core/shm/pool.hpp"

namespace damaris::client {
namespace {

// Releases the block after its answer has been read.
class AnswerGuard {
 public:
  AnswerGuard(shm::PooledArena& arena, shm::BlockHeader& block) : arena_(arena), block_(block) {}
  ~AnswerGuard() { arena_.cancel(block_); }
  AnswerGuard(const AnswerGuard&) = delete;
  AnswerGuard& operator=(const AnswerGuard&) = delete;

 private:
  shm::PooledArena& arena_;
  shm::BlockHeader& block_;
};

// Throws the error that the server answered. `data`, `data_bytes`: as requested by this client; in a pool other clients may have
// overwritten the header since.
void throw_server_answer(const std::byte* data, std::uint64_t data_bytes) {
  shm::Answer answer;
  std::memcpy(&answer, data + shm::answer_offset(data_bytes), sizeof answer);
  answer.sentence[sizeof answer.sentence - 1] = '\0';
  if (answer.code < DC_OK) throw Error(static_cast<dc_code>(answer.code), answer.sentence);
}

constexpr std::uint64_t kPartsOfArena = 4;  // so that a part finds room beside other blocks

Box interior_of(const Variable& variable) {
  Box box;
  box.ndims = variable.shape.ndims;
  for (int d = 0; d < box.ndims; ++d) box.high[static_cast<std::size_t>(d)] = variable.shape.interior(d);
  return box;
}

std::uint64_t bytes_of(const Box& box, const Variable& variable) {
  return static_cast<std::uint64_t>(volume(box)) * variable.element_bytes;
}

// Cuts the slowest dimension first, so that the parts are as contiguous as can be. A part has at least one element.
std::vector<Box> parts_of(const Box& whole, const Variable& variable, std::uint64_t most_bytes) {
  int cut = 0;
  while (cut < whole.ndims && whole.extent(cut) <= 1) ++cut;
  if (cut == whole.ndims || bytes_of(whole, variable) <= most_bytes) return {whole};
  const std::uint64_t slice = bytes_of(whole, variable) / static_cast<std::uint64_t>(whole.extent(cut));
  const auto most = static_cast<std::int64_t>(std::max<std::uint64_t>(1, most_bytes / slice));
  const auto d = static_cast<std::size_t>(cut);
  std::vector<Box> parts;
  for (std::int64_t low = whole.low[d]; low < whole.high[d]; low += most) {
    Box part = whole;
    part.low[d] = low;
    part.high[d] = std::min(low + most, whole.high[d]);
    for (const Box& piece : parts_of(part, variable, most_bytes)) parts.push_back(piece);
  }
  return parts;
}

// Requests the interior only: ghost zones are not stored.
shm::Form interior_form(const Variable& variable) {
  const shm::Form form = variable.form;
  return {form.ndims, form.flags & (shm::kHasPosition | shm::kHasGlobal)};
}

// Ghost zones have 32 bits.
bool can_be_cut(const Box& whole, shm::Form form) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  bool fits = true;
  for (int d = 0; d < whole.ndims; ++d) fits = fits && whole.extent(d) <= kMost;
  return fits || form.has(shm::kHasPosition);
}

// A part of a block without position is described as what lies between ghost zones.
void describe_part(const Variable& variable, const Box& part, shm::Form form, shm::BlockHeader& header) {
  const shm::Lists lists(header, form);
  for (int d = 0; d < form.ndims; ++d) {
    const std::int64_t low = part.low[static_cast<std::size_t>(d)], high = part.high[static_cast<std::size_t>(d)];
    const std::int64_t whole = variable.shape.interior(d);
    lists.extents()[d] = form.has(shm::kHasGhost) ? whole : part.extent(d);
    if (form.has(shm::kHasGhost)) lists.ghost_low()[d] = static_cast<std::uint32_t>(low);
    if (form.has(shm::kHasGhost)) lists.ghost_high()[d] = static_cast<std::uint32_t>(whole - high);
    if (form.has(shm::kHasPosition)) lists.position()[d] = variable.position[d] + low;
    if (form.has(shm::kHasGlobal)) lists.global()[d] = variable.shape.global[d];
  }
}

// The fast copies need a target at the start of a line, as a block has.
void copy_piece(std::byte* to, const dc_piece_t& piece) {
  if (reinterpret_cast<std::uintptr_t>(to) % shm::kLine == 0)
    shm::copy_in(to, piece.data, piece.bytes);
  else if (piece.bytes > 0)
    std::memcpy(to, piece.data, piece.bytes);
}

}  // namespace

shm::BlockHeader* Client::reserve_to_read(Writer& writer, const Asked& asked, std::uint64_t data_bytes, shm::Form form) {
  const std::string& what = asked.what;
  const std::uint64_t bytes = shm::request_bytes(data_bytes);
  if (!writer.lane.has_room()) wait_for_lane(writer, lane_deadline());
  shm::BlockHeader* header = writer.arena.try_reserve(bytes, form);
  if (header == nullptr && !writer.arena.can_ever_hold(bytes, form))
    throw Error(DC_E_TOO_LARGE,
                format("to {} {} takes {} bytes at once, more than the {} bytes of the buffer that client {} has; enlarge "
                       "<buffer size=...> in {}",
                       asked.verb, what, bytes, writer.arena.size_bytes(), id_, declared_.frame->file));
  if (header == nullptr) {
    writer.count_wait();
    link_.ring();
    const auto alone = [&] { return writer.waiting_is_futile(bytes, form); };
    const auto done = [&] { return header != nullptr || (header = writer.arena.try_reserve(bytes, form)) != nullptr || alone(); };
    link_.wait_until(Deadline::after_ms(declared_.frame->architecture.buffer_timeout_ms), done);
    // The last release may have come between the two checks in done().
    if (header == nullptr) header = writer.arena.try_reserve(bytes, form);
  }
  if (header == nullptr)
    throw Error(DC_E_FULL,
                format("no room in the buffer to {} {} ({} bytes): waited for {}; read before writing, end the step that holds the "
                       "buffer, or enlarge <buffer size=...> in {}",
                       asked.verb, what, bytes, link_.describe(shm::kNoStep), declared_.frame->file));
  header->data_bytes = data_bytes;
  header->source = id_;
  return header;
}

bool Client::request(Writer& writer, shm::BlockHeader* block, shm::Message& message, const Deadline& deadline) {
  message.step = block->step;
  message.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_->at(0));
  shm::publish_block(*block, shm::BlockState::requested, writer.lane, message);  // reserve_to_read() has ensured room in the lane
  link_.ring();
  const auto answered = [&] { return shm::state_of(*block) == shm::BlockState::answered; };
  return link_.wait_until(deadline, answered) || !shm::abandon_read(*block);
}

void Client::request_read(Writer& writer, shm::BlockHeader* block, shm::Message& message, const Asked& asked) {
  if (!request(writer, block, message, asked.deadline))
    throw Error(DC_E_TIMEOUT,
                format("{} is not read after {} ms: waited for {}; give <server read-timeout=...> more in {}", asked.what,
                       declared_.frame->architecture.read_timeout_ms, link_.describe(shm::kNoStep), declared_.frame->file));
}

void Client::read(Variable& variable, std::int64_t step, std::int32_t block, const Target& target) {
  Writer& writer = own_writer();
  require_block(variable, block);
  if (step < 0) throw Error(DC_E_ARGUMENT, format("step {} is negative; steps count from 0", step));
  refresh_shapes();
  check_source(declared_, variable, target.as_source(), step);
  if (!variable.place_checked.load(std::memory_order_relaxed)) shapes_.check_place(variable);
  link_.require_accepting();
  const Asked wanted = asked(format("'{}' of step {}", name_of(variable), step));
  const Box whole = interior_of(variable);
  const shm::Form form = interior_form(variable);
  if (writer.arena.can_ever_hold(shm::request_bytes(bytes_of(whole, variable)), form) || !can_be_cut(whole, form))
    return read_part(writer, variable, step, block, {whole, form}, target, wanted);
  const shm::Form cut = {form.ndims, form.flags | (form.has(shm::kHasPosition) ? 0 : shm::kHasGhost)};
  for (const Box& part : parts_of(whole, variable, writer.arena.size_bytes() / kPartsOfArena))
    read_part(writer, variable, step, block, {part, cut}, target, wanted);
}

void Client::read_part(Writer& writer, Variable& variable, std::int64_t step, std::int32_t block, const Part& part,
                       const Target& target, const Asked& asked) {
  const std::uint64_t bytes = bytes_of(part.box, variable);
  const shm::Form form = part.form;
  shm::BlockHeader* header = reserve_to_read(writer, asked, bytes, form);
  header->step = step;
  header->variable = variable.id;
  header->block = block;
  describe_part(variable, part.box, form, *header);
  shm::Message message = {};
  message.kind = shm::MessageKind::read;
  request_read(writer, header, message, asked);
  const AnswerGuard answered(writer.arena, *header);
  const std::byte* data = shm::data_of(header, form);
  throw_server_answer(data, bytes);
  place_part(data, variable, part.box, target);
}

std::int64_t Client::last_step(const Variable* variable) {
  Writer& writer = own_writer();
  link_.require_accepting();
  std::int64_t step = shm::kNoStep;
  const Asked wanted = asked("the last step");
  shm::BlockHeader* header = reserve_to_read(writer, wanted, sizeof step, {});
  header->step = shm::kNoStep;
  shm::Message message = {};
  message.kind = shm::MessageKind::last_step;
  message.name = variable == nullptr ? shm::kAnyVariable : variable->id;
  request_read(writer, header, message, wanted);
  const AnswerGuard answered(writer.arena, *header);
  const std::byte* data = shm::data_of(header, {});
  throw_server_answer(data, sizeof step);
  std::memcpy(&step, data, sizeof step);
  return step;
}

// A stream stays in one file, so that its order is that of its places there.
void Client::open_logs() {
  const model::Frame& frame = *declared_.frame;
  for (std::uint32_t id = 0; id < frame.logs.size(); ++id) {
    const std::uint32_t first = model::first_file(frame, id);
    const std::int64_t files = frame.logs[id].files;
    if (first + static_cast<std::uint64_t>(files) > region_->log_files())
      throw Error(DC_E_SHM, format("the region {} has no room for log '{}': it is damaged", region_->name(), frame.logs[id].name));
    LogHandle handle;
    handle.id = id;
    handle.log = &frame.logs[id];
    for (const auto& writer : writers_) {
      const std::int64_t stream = std::int64_t{id_} * region_->threads() + writer->thread;
      const std::int64_t file = stream % files;
      handle.places.push_back({&region_->log_end(first + static_cast<std::uint64_t>(file)),
                               std::int64_t{region_->header().server_index} * files + file});
    }
    logs_.push_back(std::move(handle));
  }
}

LogHandle& Client::log(const char* name) {
  std::vector<std::string> known;
  for (LogHandle& handle : logs_) {
    if (handle.log->name == name) return handle;
    known.push_back(handle.log->name);
  }
  throw Error(DC_E_UNKNOWN_NAME, format("no log '{}' in {}{}; declare it as <stream-log name=\"{}\"/> in <storage>", name,
                                        declared_.frame->file, name_hint(name, known), name));
}

shm::BlockHeader* Client::reserve_to_append(Writer& writer, const LogHandle& log, std::uint64_t bytes) {
  link_.require_open();
  if (!writer.lane.has_room()) wait_for_lane(writer, lane_deadline());
  shm::BlockHeader* header = writer.arena.try_reserve(bytes, shm::kAppendForm);
  return header != nullptr ? header : wait_to_append(writer, log, bytes);
}

// The server frees what it has written. What the open step holds is freed only when the step ends, which an append cannot wait for.
shm::BlockHeader* Client::wait_to_append(Writer& writer, const LogHandle& log, std::uint64_t bytes) {
  const ThreadStateGuard thread_state;
  const model::Frame& frame = *declared_.frame;
  if (!writer.arena.can_ever_hold(bytes, shm::kAppendForm))
    throw Error(DC_E_TOO_LARGE,
                format("an append of {} bytes to log '{}' is more than the {} bytes of the buffer that client {} has; append it in "
                       "parts, or enlarge <buffer size=...> in {}",
                       bytes, log.log->name, writer.arena.size_bytes(), id_, frame.file));
  writer.count_wait();
  shm::BlockHeader* header = nullptr;
  const bool spills = !frame.architecture.spill.empty();
  const auto alone = [&] { return !spills && writer.waiting_is_futile(bytes, shm::kAppendForm); };
  const auto reserved = [&] {
    return header != nullptr || (header = writer.arena.try_reserve(bytes, shm::kAppendForm)) != nullptr;
  };
  wait_for_room([&] { return reserved() || alone(); });
  if (reserved()) return header;  // the last release may have come between the two checks
  throw_logged(
      format("no room to append {} bytes to log '{}': waited {} ms for {}; append again later, end the step that holds the "
             "buffer, or enlarge <buffer size=...> or its timeout in {}",
             bytes, log.log->name, frame.architecture.buffer_timeout_ms, link_.describe(shm::kNoStep), frame.file));
}

// From the addition to the push there is nothing that may fail or wait: a client that is killed in between leaves a hole.
dc_position_t Client::publish_bytes(Writer& writer, const LogHandle& log, shm::BlockHeader& block, std::uint64_t bytes) {
  const LogHandle::Place& place = log.places[static_cast<std::size_t>(writer.thread)];
  block.data_bytes = bytes;
  block.step = shm::kNoStep;
  block.variable = log.id;
  block.source = id_;
  block.block = static_cast<std::int32_t>(writer.thread);
  shm::Message message = {};
  message.kind = shm::MessageKind::append;
  message.step = shm::kNoStep;
  message.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&block) - region_->at(0));
  const std::uint64_t offset = place.end->bytes.fetch_add(bytes, std::memory_order_relaxed);
  block.first_list = static_cast<std::int64_t>(offset);
  shm::publish_block(block, shm::BlockState::published, writer.lane, message);
  const bool half = writer.lane.more_than_half_full() || writer.arena.more_than_half_full();
  if (half && !writer.woke_server) link_.ring();
  writer.woke_server = half;
  if (!log.log->buffered) wait_until_written(writer, log);
  return {place.file, offset};
}

// The bytes are published: a failure must not say that nothing was appended, as DC_E_FULL does.
void Client::wait_until_written(Writer& writer, const LogHandle& log) {
  try {
    wait_for_log(writer, log, "written", false, declared_.frame->architecture.buffer_timeout_ms);
  } catch (const Error& error) {
    if (error.code() != DC_E_FULL) throw;
    throw Error(DC_E_TIMEOUT, format("appended to log '{}', but not in the file yet: {}", log.log->name, error.sentence()));
  }
}

dc_position_t Client::append(LogHandle& log, const dc_piece_t* pieces, std::size_t count) {
  Writer& writer = own_writer();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].data == nullptr && pieces[i].bytes > 0)
      throw Error(DC_E_ARGUMENT, format("piece {} of an append to log '{}' is NULL", i, log.log->name));
    if (__builtin_add_overflow(bytes, pieces[i].bytes, &bytes))
      throw Error(DC_E_TOO_LARGE, format("the pieces of an append to log '{}' have 2^64 bytes or more", log.log->name));
  }
  if (bytes == 0) {
    const LogHandle::Place& place = log.places[static_cast<std::size_t>(writer.thread)];
    return {place.file, place.end->bytes.load(std::memory_order_relaxed)};
  }
  shm::BlockHeader* const header = reserve_to_append(writer, log, bytes);
  std::byte* to = shm::data_of(header, shm::kAppendForm);
  for (std::size_t i = 0; i < count; ++i) {
    copy_piece(to, pieces[i]);
    to += pieces[i].bytes;
  }
  return publish_bytes(writer, log, *header, bytes);
}

void* Client::alloc_append(LogHandle& log, std::uint64_t bytes) {
  Writer& writer = own_writer();
  if (bytes == 0) throw Error(DC_E_ARGUMENT, format("an append of 0 bytes to log '{}' cannot be allocated", log.log->name));
  shm::BlockHeader* const header = reserve_to_append(writer, log, bytes);
  void* const data = shm::data_of(header, shm::kAppendForm);
  writer.appends[data] = {header, log.id, bytes};
  return data;
}

dc_position_t Client::publish_append(LogHandle& log, void* data, std::uint64_t bytes) {
  Writer& writer = own_writer();
  const auto found = writer.appends.find(data);
  if (found == writer.appends.end() || found->second.log != log.id)
    throw Error(DC_E_NOT_ALLOCATED,
                format("nothing is allocated for log '{}' at this address; dc_append_alloc of the same log, by the "
                       "same thread, comes first",
                       log.log->name));
  if (bytes > found->second.bytes)
    throw Error(DC_E_ARGUMENT,
                format("cannot append {} bytes to log '{}': {} are allocated", bytes, log.log->name, found->second.bytes));
  if (!writer.lane.has_room()) wait_for_lane(writer, lane_deadline());
  shm::BlockHeader& header = *found->second.header;
  writer.appends.erase(found);
  if (bytes > 0) return publish_bytes(writer, log, header, bytes);
  writer.arena.cancel(header);
  const LogHandle::Place& place = log.places[static_cast<std::size_t>(writer.thread)];
  return {place.file, place.end->bytes.load(std::memory_order_relaxed)};
}

void Client::cancel_appends() noexcept {
  for (auto& writer : writers_) {
    for (const auto& [data, block] : writer->appends) writer->arena.cancel(*block.header);
    writer->appends.clear();
  }
}

void Client::commit_log(LogHandle& log, std::int64_t timeout_ms) {
  Writer& writer = own_writer();
  link_.require_accepting();
  wait_for_log(writer, log, "durable", true, timeout_ms);
}

// The lane keeps the order: when the server answers, it has stored what came before.
void Client::wait_for_log(Writer& writer, const LogHandle& log, const char* what, bool durable, std::int64_t timeout_ms) {
  const ThreadStateGuard thread_state;
  const Asked wanted = {format("log '{}'", log.log->name), Deadline::after_ms(timeout_ms), "commit"};
  shm::BlockHeader* const block = reserve_to_read(writer, wanted, 0, {});
  block->step = shm::kNoStep;
  shm::Message message = {};
  message.kind = shm::MessageKind::log_commit;
  message.name = log.id;
  message.count = durable ? 1 : 0;
  if (!request(writer, block, message, wanted.deadline))
    throw Error(DC_E_TIMEOUT, format("log '{}' is not {} after {} ms: waited for {}; the server still has what was appended",
                                     log.log->name, what, timeout_ms, link_.describe(shm::kNoStep)));
  const AnswerGuard answered(writer.arena, *block);
  throw_server_answer(shm::data_of(block, {}), 0);
}

}  // namespace damaris::client
