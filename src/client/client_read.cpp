// The path of a read: reserve -> request -> wait for the server's answer -> copy out, once for each part that fits into the arena. The server
// owns the block until it has answered. If the client has abandoned the read, the server releases the block instead.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "client/answer.hpp"
#include "client/client.hpp"
#include "core/base/format.hpp"
#include "core/shm/publish.hpp"
#include "core/shm/states.hpp"

namespace damaris::client {
namespace {

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
  link_.require_taking();
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
  throw_refusal(data, bytes);
  place_part(data, variable, part.box, target);
}

std::int64_t Client::last_step(const Variable* variable) {
  Writer& writer = own_writer();
  link_.require_taking();
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
  throw_refusal(data, sizeof step);
  std::memcpy(&step, data, sizeof step);
  return step;
}

}  // namespace damaris::client
