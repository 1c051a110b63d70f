#include "client/client.hpp"

#include <cstring>
#include <limits>

#include "core/base/format.hpp"
#include "core/base/nearest.hpp"
#include "core/shm/doorbell.hpp"
#include "core/shm/mailbox.hpp"

namespace damaris::client {
namespace {

using event::Event;
using event::Kind;

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Event make_event(Kind kind, std::int64_t step) {
  Event event = {};
  event.kind = kind;
  event.step = step;
  return event;
}

shm::SlotState state_of(const shm::ClientSlot& slot) {
  return static_cast<shm::SlotState>(slot.state.load(std::memory_order_acquire));
}

void set_state(shm::ClientSlot& slot, shm::SlotState state) {
  slot.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

}  // namespace

// One compare-exchange takes the slot; the id is looked for afterwards, so that of two processes with one id at least one sees the other.
bool try_claim(shm::Region& region, std::uint32_t index, int id) {
  shm::ClientSlot& slot = region.slot(index);
  auto expected = static_cast<std::uint32_t>(shm::SlotState::free);
  if (!slot.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(shm::SlotState::claimed))) return false;
  const ProcessId self = this_process();
  slot.pid = self.pid;
  slot.start_time = self.start_time;
  slot.id.store(id);
  for (std::uint32_t other = 0; other < region.client_count(); ++other) {
    if (other == index || state_of(region.slot(other)) == shm::SlotState::free || region.slot(other).id.load() != id) continue;
    slot.id.store(-1);
    set_state(slot, shm::SlotState::free);
    throw Error(DC_E_DUPLICATE, format("client id {} is already attached to this server (process {}); ids are unique in a run", id,
                                       region.slot(other).pid));
  }
  return true;
}

Client::Client(std::shared_ptr<shm::Region> region, std::shared_ptr<const model::Model> model, std::uint32_t slot, int id,
               Pump pump)
    : region_(std::move(region)),
      model_(std::move(model)),
      names_(*model_),
      shapes_(model_),
      slot_(slot),
      id_(id),
      pump_(std::move(pump)),
      server_(ProcessId{region_->header().server_pid, region_->header().server_start_time}),
      serial_(next_serial()) {
  try {
    make_writers();
  } catch (...) {
    region_->slot(slot_).id.store(-1);
    set_state(region_->slot(slot_), shm::SlotState::free);
    throw;
  }
  set_state(region_->slot(slot_), shm::SlotState::attached);
  ring();
}

void Client::make_writers() {
  for (std::uint32_t thread = 0; thread < region_->threads(); ++thread) {
    const shm::LaneSpan span = region_->span(slot_ * region_->threads() + thread);
    region_->memory().allocate(span.arena_offset, span.arena_bytes);
    auto* lane = reinterpret_cast<shm::LaneHeader*>(region_->at(span.lane_offset));
    writers_.push_back(std::make_unique<Writer>(shm::LaneWriter(lane, region_->header().lane_events),
                                                shm::Arena(region_->at(span.arena_offset), span.arena_bytes, lane),
                                                model_->variables.size()));
  }
}

// Reached without finalize only when the program is unwinding: say goodbye, wait for nothing.
Client::~Client() {
  if (finalized_) return;
  for (auto& writer : writers_) writer->lane.try_push(make_event(Kind::finalize, std::max(ended_, open_.load())));
  ring();
}

Writer& Client::own_writer() {
  if (writers_.size() == 1) return *writers_[0];
  thread_local std::uint64_t client = 0;
  thread_local std::uint32_t index = 0;
  if (client != serial_) {
    index = threads_seen_.fetch_add(1);
    client = serial_;
  }
  if (index >= writers_.size())
    throw Error(DC_E_THREADS,
                format("more than {} threads call; set <clients threads=\"...\"> in {}", writers_.size(), model_->file));
  return *writers_[index];
}

void Client::open_step(std::int64_t step) {
  if (step == open_.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::mutex> lock(step_mutex_);
  if (step == open_.load(std::memory_order_relaxed)) return;
  if (step < 0) throw Error(DC_E_ARGUMENT, format("step {} is negative; steps count from 0", step));
  const std::int64_t lowest = std::max(ended_ + 1, open_.load(std::memory_order_relaxed));
  if (step < lowest)
    throw Error(DC_E_BACKWARD, format("step {} comes after step {} of client {}; steps only count upwards", step,
                                      lowest - (open_ == lowest ? 0 : 1), id_));
  close_steps_below(step);
  open_.store(step, std::memory_order_release);
}

void Client::close_steps_below(std::int64_t step) {
  for (auto& writer : writers_) {
    for (const auto& [key, block] : writer->allocated) {
      cancelled_ += format("{}'{}' block {} of step {}", cancelled_.empty() ? "" : ", ", model_->variables[key.first].path,
                           key.second, block->step);
      writer->arena.cancel(block);
    }
    writer->allocated.clear();
    writer->scratch.clear();
    writer->more_blocks.clear();
    writer->step_bytes = 0;
  }
  ended_ = std::max(ended_, step - 1);
  open_.store(shm::kNoStep, std::memory_order_release);
  writing_.store(false, std::memory_order_relaxed);
}

// Parameters change between steps, never in the middle of one (DESIGN 4b rule 13).
void Client::start_writing() {
  const std::lock_guard<std::mutex> lock(step_mutex_);
  if (writing_.load(std::memory_order_relaxed)) return;
  if (shapes_.parameters_changed()) shapes_.apply_parameters();
  writing_.store(true, std::memory_order_release);
}

void Client::refresh_shapes() {
  const std::lock_guard<std::mutex> lock(step_mutex_);
  if (!writing_.load(std::memory_order_relaxed) && shapes_.parameters_changed()) shapes_.apply_parameters();
}

shm::BlockHeader* Client::reserve(Writer& writer, Variable& variable, std::int64_t step, std::int32_t block) {
  if (block < 0) throw Error(DC_E_ARGUMENT, format("block {} of '{}' is negative; blocks count from 0", block, name_of(variable)));
  if (!writer.lane.has_room()) wait_for_lane(writer);
  if (writer.seen_before(variable.id, step, block))
    throw Error(DC_E_DUPLICATE,
                format("'{}' block {} was already written in step {} by client {}; use another block number, or end the step",
                       name_of(variable), block, step, id_));
  shm::BlockHeader* header = writer.arena.try_reserve(variable.shape.bytes);
  if (header == nullptr) {
    try {
      header = wait_for_block(writer, variable, step);
    } catch (...) {
      writer.forget(variable.id, block);
      throw;
    }
  }
  writer.step_bytes += header->size_bytes.load(std::memory_order_relaxed);
  header->data_bytes = variable.shape.bytes;
  header->step = step;
  header->variable = variable.id;
  header->source = id_;
  header->block = block;
  header->ndims = static_cast<std::uint16_t>(variable.shape.ndims);
  header->flags = variable.flags;
  const auto lists = static_cast<std::size_t>(variable.shape.ndims);
  std::copy_n(variable.shape.extents, lists, header->extents);
  if ((variable.flags & shm::kHasPosition) != 0) std::copy_n(variable.position, lists, header->position);
  if ((variable.flags & shm::kHasGlobal) != 0) std::copy_n(variable.shape.global, lists, header->global);
  if ((variable.flags & shm::kHasGhost) != 0) {
    std::copy_n(variable.shape.ghost_low, lists, header->ghost_low);
    std::copy_n(variable.shape.ghost_high, lists, header->ghost_high);
  }
  return header;
}

// The slow path: no hole. What can never fit is refused at once; the rest waits for the server, within the buffer's time-out.
shm::BlockHeader* Client::wait_for_block(Writer& writer, const Variable& variable, std::int64_t step) {
  const std::uint64_t bytes = variable.shape.bytes;
  const std::string share = format("the {} this client has of the buffer", writer.arena.size_bytes());
  if (!writer.arena.can_ever_hold(bytes))
    throw Error(DC_E_TOO_LARGE, format("'{}' is {} bytes in step {}, more than {} bytes; enlarge <buffer size=...> in {}",
                                       name_of(variable), bytes, step, share, model_->file));
  const auto alone = [&] {
    return writer.arena.used_bytes() <= writer.step_bytes;
  };  // only the open step is left: waiting is in vain
  ++writer.waits;
  ring();
  shm::BlockHeader* header = nullptr;
  const auto done = [&] { return (header = writer.arena.try_reserve(bytes)) != nullptr || alone(); };
  wait_until(Deadline::after_ms(model_->architecture.buffer_timeout_ms), done);
  if (header != nullptr) return header;
  if (alone())
    throw Error(DC_E_ITERATION_TOO_LARGE, format("step {} of client {} alone fills {} bytes: {} bytes are in use and '{}' needs {} "
                                                 "more; enlarge <buffer size=...> in {}",
                                                 step, id_, share, writer.step_bytes, name_of(variable), bytes, model_->file));
  throw Error(
      DC_E_FULL,
      format("no room for '{}' ({} bytes) in step {}: waited {} ms for {}; enlarge <buffer size=...> or its timeout in {}",
             name_of(variable), bytes, step, model_->architecture.buffer_timeout_ms, whom_we_wait_for(step - 1), model_->file));
}

void Client::wait_for_lane(Writer& writer) {
  ring();
  if (!wait_until(Deadline::after_ms(model_->architecture.buffer_timeout_ms), [&] { return writer.lane.has_room(); }))
    throw Error(DC_E_FULL, format("the lane of client {} stayed full for {} ms: waited for {}; give <lanes events=...> more in {}",
                                  id_, model_->architecture.buffer_timeout_ms, whom_we_wait_for(shm::kNoStep), model_->file));
}

void Client::publish(Writer& writer, shm::BlockHeader* block) {
  Event event = make_event(Kind::write, block->step);
  event.block_offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region_->at(0));
  block->state.store(static_cast<std::uint32_t>(shm::BlockState::published), std::memory_order_release);
  writer.lane.try_push(event);  // reserve() made sure of the room, and only this thread fills it
  ++writer.writes;
  const bool half = writer.lane.more_than_half_full() || writer.arena.more_than_half_full();
  if (half && !writer.rang) ring();
  writer.rang = half;
}

int Client::write(Variable& variable, std::int64_t step, std::int32_t block, const void* data) {
  Writer& writer = own_writer();
  open_step(step);
  if (!variable.enabled) return DC_N_DISABLED;
  if (!writing_.load(std::memory_order_acquire)) start_writing();
  if (data == nullptr && variable.shape.bytes > 0)
    throw Error(DC_E_ARGUMENT, format("the data of '{}' is a null pointer", name_of(variable)));
  shm::BlockHeader* header = reserve(writer, variable, step, block);
  if (variable.shape.bytes > 0) std::memcpy(shm::Arena::data(header), data, variable.shape.bytes);
  publish(writer, header);
  return DC_OK;
}

int Client::write(Variable& variable, std::int64_t step, std::int32_t block, const Source& source) {
  Writer& writer = own_writer();
  open_step(step);
  if (!variable.enabled) return DC_N_DISABLED;
  if (!writing_.load(std::memory_order_acquire)) start_writing();
  check_source(*model_, variable, source, step);
  shm::BlockHeader* header = reserve(writer, variable, step, block);
  copy_source(shm::Arena::data(header), variable, source);
  publish(writer, header);
  return DC_OK;
}

int Client::alloc(Variable& variable, std::int64_t step, std::int32_t block, void** data) {
  Writer& writer = own_writer();
  open_step(step);
  *data = nullptr;
  if (!writing_.load(std::memory_order_acquire)) start_writing();
  if (!variable.enabled) {
    *data = writer.scratch_for(variable.id, block, variable.shape.bytes);
    return DC_N_DISABLED;
  }
  shm::BlockHeader* header = reserve(writer, variable, step, block);
  writer.allocated[{variable.id, block}] = header;
  *data = shm::Arena::data(header);
  return DC_OK;
}

int Client::commit(Variable& variable, std::int64_t step, std::int32_t block) {
  Writer& writer = own_writer();
  if (!variable.enabled) {
    writer.scratch.erase({variable.id, block});
    return DC_N_DISABLED;
  }
  const auto found = writer.allocated.find({variable.id, block});
  if (found == writer.allocated.end() || found->second->step != step)
    throw Error(
        DC_E_NOT_ALLOCATED,
        format(
            "commit of '{}' block {} in step {}: nothing was allocated (dc_alloc of the same variable, step and block comes first)",
            name_of(variable), block, step));
  if (!writer.lane.has_room()) wait_for_lane(writer);
  shm::BlockHeader* header = found->second;
  writer.allocated.erase(found);
  publish(writer, header);
  return DC_OK;
}

void Client::push(Writer& writer, const Event& event) {
  if (!writer.lane.has_room()) wait_for_lane(writer);
  writer.lane.try_push(event);
}

void Client::signal(const std::string& name, std::int64_t step) {
  const int id = names_.event(name);
  if (id < 0) {
    std::vector<std::string> known;
    for (const model::Event& event : model_->events) known.push_back(event.name);
    throw Error(DC_E_UNKNOWN_NAME, format("no event '{}' in {}{}", name, model_->file, name_hint(name, known)));
  }
  require_server();
  open_step(step);
  Event event = make_event(Kind::signal, step);
  event.name = static_cast<std::uint32_t>(id);
  push(own_writer(), event);
  ring();
  settle();
}

// In place: does what the server has to do now, before the call returns. Elsewhere the server does it meanwhile.
void Client::settle() {
  if (pump_) wait_until(Deadline::after_ms(model_->architecture.finalize_timeout_ms), [] { return false; });
}

void Client::set_time(std::int64_t step, double time) {
  open_step(step);
  Event event = make_event(Kind::set_time, step);
  event.time = time;
  push(own_writer(), event);
}

// Every lane gets the end, so that the server knows it has all that the client's threads wrote before (DESIGN 4b rule 14).
Client::Report Client::end_iteration(std::int64_t step) {
  if (step < 0) throw Error(DC_E_ARGUMENT, format("step {} is negative; steps count from 0", step));
  if (step <= ended_)
    throw Error(DC_E_BACKWARD,
                format("step {} has already ended for client {} (last ended: {}); steps only count upwards", step, id_, ended_));
  if (open_ > step)
    throw Error(DC_E_BACKWARD, format("step {} cannot end: client {} is already in step {}", step, id_, open_.load()));
  require_server();
  for (auto& writer : writers_) push(*writer, make_event(Kind::end_iteration, step));
  close_steps_below(step + 1);
  ring();
  settle();
  return next_report(step);
}

Client::Report Client::next_report(std::int64_t up_to_step) {
  if (!cancelled_.empty()) {
    Report report{
        DC_E_NOT_COMMITTED,
        format("client {}: allocated but never committed, so cancelled: {}; call dc_commit before the step ends", id_, cancelled_)};
    cancelled_.clear();
    return report;
  }
  if (const auto mail = shm::try_take_mail(region_->slot(slot_), up_to_step)) return {DC_E_EARLIER_IO, mail->sentence};
  return {};
}

Client::Report Client::flush(std::int64_t step, std::int64_t timeout_ms) {
  if (step > ended_)
    throw Error(DC_E_NOT_ENDED,
                format("flush of step {}: client {} has not ended it; call dc_end_iteration({}) first", step, id_, step));
  require_server();
  push(own_writer(), make_event(Kind::flush, step));
  ring();
  if (!wait_until(Deadline::after_ms(timeout_ms),
                  [&] { return region_->header().last_processed.load(std::memory_order_acquire) >= step; }))
    throw Error(DC_E_TIMEOUT,
                format("step {} is not durable after {} ms: waited for {}", step, timeout_ms, whom_we_wait_for(step)));
  return next_report(step);
}

Client::Report Client::finalize() {
  if (finalized_) return {};
  finalized_ = true;
  const std::int64_t last = std::max(ended_, open_.load());
  require_server();
  close_steps_below(last + 1);
  for (auto& writer : writers_) push(*writer, make_event(Kind::finalize, last));
  ring();
  const auto drained = [&] { return state_of(region_->slot(slot_)) != shm::SlotState::attached; };
  if (!wait_until(Deadline::after_ms(model_->architecture.finalize_timeout_ms), drained))
    throw Error(DC_E_TIMEOUT, format("client {} leaves although its data are not durable: waited {} ms for {}", id_,
                                     model_->architecture.finalize_timeout_ms, whom_we_wait_for(last)));
  Report first = next_report(std::numeric_limits<std::int64_t>::max());
  int more = 0;
  for (Report next = first; next.code != DC_OK; next = next_report(std::numeric_limits<std::int64_t>::max())) ++more;
  if (more > 1) first.sentence += format(" (and {} more such reports)", more - 1);
  return first;
}

dc_status_t Client::status() {
  const shm::RegionHeader& header = region_->header();
  dc_status_t status = {};
  status.last_complete = header.last_complete.load(std::memory_order_acquire);
  status.last_durable = header.last_durable.load(std::memory_order_acquire);
  status.first_error = header.first_error.load(std::memory_order_acquire);
  for (auto& writer : writers_) {
    status.buffer_bytes += writer->arena.size_bytes();
    status.buffer_used_bytes += writer->arena.used_bytes();
    status.largest_hole_bytes = std::max(status.largest_hole_bytes, writer->arena.largest_hole_bytes());
    status.events_waiting += writer->lane.waiting();
    status.writes += writer->writes;
    status.waits += writer->waits;
  }
  return status;
}

void Client::ring() { shm::ring_server(region_->header()); }

bool Client::server_alive() const {
  const bool open = region_->header().state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(shm::RegionState::ready);
  return open && server_.alive();
}

void Client::throw_server_lost() const {
  throw Error(DC_E_SERVER_LOST, format("server {} on {} (process {}) is gone; what was published stays in {}",
                                       region_->header().server_index, region_->header().host, region_->header().server_pid,
                                       region_->name().empty() ? "memory" : "/dev/shm" + region_->name()));
}

void Client::require_server() const {
  if (!server_alive()) throw_server_lost();
}

// Waits in pieces, because a server that dies wakes nobody.
template <class Done>
bool Client::wait_until(const Deadline& deadline, Done&& done) {
  constexpr std::int64_t kPieceMs = 100;
  while (!done()) {
    if (deadline.passed()) return false;
    if (pump_) {
      if (!pump_()) return done();
      continue;
    }
    if (!server_alive() && !done()) throw_server_lost();
    shm::wait_for_progress(region_->header(), deadline.left_ms(kPieceMs), done);
  }
  return true;
}

std::string Client::whom_we_wait_for(std::int64_t step) const {
  shm::RegionHeader& header = region_->header();
  std::string text = format("server {} on {} (process {}", header.server_index, header.host, header.server_pid);
  if (const std::int64_t since = header.busy_since_ns.load(std::memory_order_relaxed); since != 0) {
    std::string what;
    for (const auto& letter : header.busy_with) {
      if (letter.load(std::memory_order_relaxed) == '\0') break;
      what += letter.load(std::memory_order_relaxed);
    }
    text += format(", in {} for {:.1f} s", what, static_cast<double>(Clock::now().time_since_epoch().count() - since) * 1e-9);
  }
  text += ")";
  std::vector<std::string> late;
  for (std::uint32_t other = 0; other < region_->client_count(); ++other) {
    const shm::ClientSlot& slot = region_->slot(other);
    const shm::SlotState state = state_of(slot);
    if (state == shm::SlotState::free)
      late.push_back(format("slot {} (not attached yet)", other));
    else if (state == shm::SlotState::attached && slot.ended_step.load(std::memory_order_acquire) < step)
      late.push_back(format("client {}", slot.id.load()));
  }
  if (!late.empty()) text += format("; step {} is not ended by {}", step, join(late, ", "));
  return text;
}

}  // namespace damaris::client
