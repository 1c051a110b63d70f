// The path of a read: reserve -> request -> wait for the server's answer -> copy out. The server owns the block until it has answered. If
// the client has abandoned the read, the server releases the block instead.
#include <algorithm>
#include <cstring>

#include "client/client.hpp"
#include "core/base/format.hpp"
#include "core/shm/publish.hpp"
#include "core/shm/states.hpp"

namespace damaris::client {
namespace {

std::uint64_t interior_bytes(const Variable& variable) {
  std::uint64_t bytes = variable.element_bytes;
  for (int d = 0; d < variable.shape.ndims; ++d) bytes *= static_cast<std::uint64_t>(variable.shape.interior(d));
  return bytes;
}

// Requests the interior only: ghost zones are not stored.
shm::Form interior_form(const Variable& variable) {
  const shm::Form form = variable.form;
  return {form.ndims, form.flags & (shm::kHasPosition | shm::kHasGlobal)};
}

void describe_interior(const Variable& variable, shm::BlockHeader& header) {
  const shm::Form form = interior_form(variable);
  const shm::Lists lists(header, form);
  for (int d = 0; d < form.ndims; ++d) {
    lists.extents()[d] = variable.shape.interior(d);
    if (form.has(shm::kHasPosition)) lists.position()[d] = variable.position[d];
    if (form.has(shm::kHasGlobal)) lists.global()[d] = variable.shape.global[d];
  }
}

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

// `data`, `data_bytes`: as requested by this client; in a pool other clients may have overwritten the header since.
void throw_refusal(const std::byte* data, std::uint64_t data_bytes) {
  shm::Answer answer;
  std::memcpy(&answer, data + shm::answer_offset(data_bytes), sizeof answer);
  answer.sentence[sizeof answer.sentence - 1] = '\0';
  if (answer.code < DC_OK) throw Error(static_cast<dc_code>(answer.code), answer.sentence);
}

}  // namespace

shm::BlockHeader* Client::reserve_to_read(Writer& writer, const std::string& what, std::uint64_t data_bytes, shm::Form form) {
  const std::uint64_t bytes = shm::request_bytes(data_bytes);
  if (!writer.lane.has_room()) wait_for_lane(writer, lane_deadline());
  shm::BlockHeader* header = writer.arena.try_reserve(bytes, form);
  if (header == nullptr && !writer.arena.can_ever_hold(bytes, form))
    throw Error(DC_E_TOO_LARGE,
                format("to read {} takes {} bytes, more than the {} bytes of the buffer that client {} has; enlarge "
                       "<buffer size=...> in {}",
                       what, bytes, writer.arena.size_bytes(), id_, model_->file));
  if (header == nullptr) {
    writer.count_wait();
    link_.ring();
    const auto alone = [&] { return writer.waiting_is_futile(bytes, form); };
    const auto done = [&] { return header != nullptr || (header = writer.arena.try_reserve(bytes, form)) != nullptr || alone(); };
    link_.wait_until(Deadline::after_ms(model_->architecture.buffer_timeout_ms), done);
    // The last release may have come between the two checks in done().
    if (header == nullptr) header = writer.arena.try_reserve(bytes, form);
  }
  if (header == nullptr)
    throw Error(
        DC_E_FULL,
        format("no room in the buffer to read {} ({} bytes): waited for {}; read before writing, end the step that holds the "
               "buffer, or enlarge <buffer size=...> in {}",
               what, bytes, link_.describe(shm::kNoStep), model_->file));
  header->data_bytes = data_bytes;
  header->source = id_;
  return header;
}

void Client::request(Writer& writer, shm::BlockHeader* block, shm::Message& message, const std::string& what) {
  message.step = block->step;
  message.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_->at(0));
  shm::publish_block(*block, shm::BlockState::requested, writer.lane, message);  // reserve_to_read() has ensured room in the lane
  link_.ring();
  const std::int64_t timeout_ms = model_->architecture.buffer_timeout_ms;
  const auto answered = [&] { return shm::state_of(*block) == shm::BlockState::answered; };
  if (!link_.wait_until(Deadline::after_ms(timeout_ms), answered) && shm::abandon_read(*block))
    throw Error(DC_E_TIMEOUT, format("{} is not read after {} ms: waited for {}; give <buffer timeout=...> more in {}", what,
                                     timeout_ms, link_.describe(shm::kNoStep), model_->file));
}

void Client::read(Variable& variable, std::int64_t step, std::int32_t block, const Target& target) {
  Writer& writer = own_writer();
  require_block(variable, block);
  if (step < 0) throw Error(DC_E_ARGUMENT, format("step {} is negative; steps count from 0", step));
  refresh_shapes();
  check_source(*model_, variable, target.as_source(), step);
  if (!variable.place_checked.load(std::memory_order_relaxed)) shapes_.check_place(variable);
  link_.require_taking();
  const std::string what = format("'{}' of step {}", name_of(variable), step);
  const std::uint64_t bytes = interior_bytes(variable);
  const shm::Form form = interior_form(variable);
  shm::BlockHeader* header = reserve_to_read(writer, what, bytes, form);
  header->step = step;
  header->variable = variable.id;
  header->block = block;
  describe_interior(variable, *header);
  shm::Message message = {};
  message.kind = shm::MessageKind::read;
  request(writer, header, message, what);
  const AnswerGuard answered(writer.arena, *header);
  const std::byte* data = shm::data_of(header, form);
  throw_refusal(data, bytes);
  place_interior(data, variable, target);
}

std::int64_t Client::last_step(const Variable* variable) {
  Writer& writer = own_writer();
  link_.require_taking();
  std::int64_t step = shm::kNoStep;
  shm::BlockHeader* header = reserve_to_read(writer, "the last step", sizeof step, {});
  header->step = shm::kNoStep;
  shm::Message message = {};
  message.kind = shm::MessageKind::last_step;
  message.name = variable == nullptr ? shm::kAnyVariable : variable->id;
  request(writer, header, message, "the last step");
  const AnswerGuard answered(writer.arena, *header);
  const std::byte* data = shm::data_of(header, {});
  throw_refusal(data, sizeof step);
  std::memcpy(&step, data, sizeof step);
  return step;
}

}  // namespace damaris::client
