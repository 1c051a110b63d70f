// The path of an append: reserve -> copy -> take a place in the log -> publish. The place is one addition to a word in the region, so it is
// known at once and stays true. The rest of the client is in client.cpp.
#include <cstring>

#include "client/answer.hpp"
#include "client/client.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"
#include "core/base/thread_state_guard.hpp"
#include "core/shm/copy_choice.hpp"
#include "core/shm/publish.hpp"
#include "core/shm/states.hpp"

namespace damaris::client {
namespace {

// The fast copies need a target at the start of a line, as a block has.
void copy_piece(std::byte* to, const dc_piece_t& piece) {
  if (reinterpret_cast<std::uintptr_t>(to) % shm::kLine == 0)
    shm::copy_in(to, piece.data, piece.bytes);
  else if (piece.bytes > 0)
    std::memcpy(to, piece.data, piece.bytes);
}

}  // namespace

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
    throw Error(DC_E_ARGUMENT, format("{} bytes are to be appended to log '{}', of which {} are allocated", bytes, log.log->name,
                                      found->second.bytes));
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
  link_.require_taking();
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
  throw_refusal(shm::data_of(block, {}), 0);
}

}  // namespace damaris::client
