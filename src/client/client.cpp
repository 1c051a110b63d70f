#include "client/client.hpp"

#include <algorithm>
#include <limits>

#include "client/slot.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/server_facts.hpp"
#include "core/shm/steps.hpp"

namespace damaris::client {
namespace {

using shm::Message;
using shm::MessageKind;

Message make_message(MessageKind kind, std::int64_t step) {
  Message message = {};
  message.kind = kind;
  message.step = step;
  return message;
}

void require_step(std::int64_t step) {
  if (step < 0) throw Error(DC_E_ARGUMENT, format("step {} is negative; steps count from 0", step));
  if (step > shm::kHighestStep)
    throw Error(DC_E_ARGUMENT, format("step {} is higher than {}, the highest", step, shm::kHighestStep));
}

Message omission_message(const Writer::Omitted& what, std::uint64_t count) {
  const auto [step, variable, dropped] = what;
  Message message = make_message(dropped ? MessageKind::dropped : MessageKind::skipped, step);
  message.name = variable;
  message.count = count;
  return message;
}

Declarations declarations_in(shm::Region& region, std::shared_ptr<const model::Frame> frame, std::uint32_t slot) {
  try {
    return Declarations::of(std::move(frame), region.variables());
  } catch (...) {
    free_slot(region, slot);
    throw;
  }
}

}  // namespace

Client::Client(std::shared_ptr<shm::Region> region, std::shared_ptr<const model::Frame> frame, std::uint32_t slot, int id,
               Pump pump)
    : region_(std::move(region)),
      slot_(slot),
      declared_(declarations_in(*region_, std::move(frame), slot)),
      shapes_(declared_, region_->threads(), [this](std::uint32_t variable) { prepare_writers(variable); }),
      id_(id),
      may_omit_(declared_.variables.may_omit()),
      link_(region_, slot, std::move(pump)),
      claims_(region_->threads()) {
  shm::ClientSlot& mine = region_->slot(slot_);
  try {
    make_writers();
    open_logs();
  } catch (...) {
    free_slot(*region_, slot_);
    throw;
  }
  if (!try_attach(mine))
    throw Error(DC_E_TIMEOUT,
                format("client {} came too late: server {} on {} has stopped waiting for it; give <server attach-timeout=...> more",
                       id_, region_->header().server_index, region_->host()));
  link_.ring();
}

void Client::make_writers() {
  for (std::uint32_t thread = 0; thread < region_->threads(); ++thread) {
    const shm::LaneSpan span = region_->span(slot_ * region_->threads() + thread);
    auto* lane = reinterpret_cast<shm::LaneHeader*>(region_->at(span.lane_offset));
    const shm::PooledArena arena(own_arena(span), region_->pool(), region_->memory(), slot_,
                                 declared_.frame->architecture.buffer_timeout_ms);
    writers_.push_back(
        std::make_unique<Writer>(shm::LaneWriter(lane, region_->lane_messages()), arena, declared_.variables.size()));
    writers_.back()->thread = thread;
  }
}

void Client::prepare_writers(std::uint32_t variable) {
  for (const auto& writer : writers_) writer->forget(variable, 0);
}

// The arena of a pool is already initialized by the server; only its pages are mapped here.
shm::Arena Client::own_arena(const shm::LaneSpan& span) {
  region_->memory().allocate(span.arena_offset, span.arena_bytes, region_->pool() != nullptr);
  shm::LaneHeader* keeper = region_->lane(static_cast<std::uint32_t>(span.arena));
  std::byte* base = region_->at(span.arena_offset);
  if (region_->pool() != nullptr) return shm::Arena::existing(base, span.arena_bytes, keeper);
  return {base, span.arena_bytes, keeper};
}

Client::~Client() {
  if (!creator_.is_this_process()) return;
  if (!finalize_deadline_) send_finalize();
  unlock_slot(*region_, slot_);
}

void Client::end_session() noexcept { shm::set_state(region_->slot(slot_), shm::SlotState::dead); }

// Without waiting: the program is unwinding.
void Client::send_finalize() {
  const std::int64_t last = last_attempted_step();
  for (auto& writer : writers_) {
    for (const auto& [key, block] : writer->allocated) writer->arena.cancel(*block.header);
    for (const auto& [data, block] : writer->appends) writer->arena.cancel(*block.header);
    writer->record_failed_writes(steps_.open(), last);
    bool sent = true;
    for (const auto& [what, count] : writer->omitted) sent = sent && writer->lane.try_push(omission_message(what, count));
    if (sent)
      writer->lane.try_push(
          make_message(MessageKind::finalize, last));  // otherwise the server reports this client as missing from the step
  }
  link_.ring();
}

Writer& Client::writer_of_thread() {
  if (const auto lane = claims_.claim()) return *writers_[*lane];
  throw Error(DC_E_THREADS, format("more than {} live threads have called Damaris; set <clients threads=\"...\"> in {}",
                                   writers_.size(), declared_.frame->file));
}

// Claims no lane: a thread that only queries needs none.
Writer* Client::writer_if_any() {
  if (writers_.size() == 1) return writers_[0].get();
  const auto lane = claims_.current();
  return lane ? writers_[*lane].get() : nullptr;
}

std::unique_lock<std::mutex> Client::lock_step() {
  return writers_.size() > 1 ? std::unique_lock<std::mutex>(step_mutex_) : std::unique_lock<std::mutex>();
}

// `wanted`: the block to be written in the new step. A write that would fail is refused before the step opens, because opening it ends the
// previous step. A block that a full lane keeps out is recorded, so that its step becomes partial.
void Client::change_step(std::int64_t step, const Wanted* wanted) {
  const auto lock = lock_step();
  require_step(step);
  if (step == steps_.open()) return;
  link_.require_open();
  const std::int64_t lowest = steps_.lowest_allowed();
  if (step < lowest)
    throw Error(DC_E_BACKWARD, format("step {} comes after step {} of client {}; steps only count upwards", step,
                                      lowest - (steps_.open() == lowest ? 0 : 1), id_));
  if (wanted != nullptr) require_fits(*wanted, step);
  try {
    report_omissions(step - 1, lane_deadline());
  } catch (const Error& error) {
    if (wanted != nullptr && error.code() == DC_E_FULL) wanted->writer.full.emplace(step, wanted->variable.id, wanted->block);
    throw;
  }
  close_steps_below(step);
  steps_.begin(step);
}

// Reports the omitted writes of the steps up to `last`, so that the server can record them. An omission in a step after the open one ends the
// open one.
void Client::report_omissions(std::int64_t last, const Deadline& deadline) {
  for (auto& writer : writers_) writer->record_failed_writes(steps_.open(), last);
  for (auto& writer : writers_) {
    for (auto next = writer->omitted.begin(); next != writer->omitted.end(); next = writer->omitted.erase(next)) {
      push(*writer, omission_message(next->first, next->second), deadline);
      const std::int64_t step = std::get<0>(next->first);
      if (step > steps_.open() && step > steps_.last_ended() + 1) close_steps_below(step);
    }
  }
}

// The last step in which the program has tried to write, including one that a full lane has kept from opening.
std::int64_t Client::last_attempted_step() const {
  std::int64_t last = steps_.highest_named();
  for (const auto& writer : writers_)
    if (!writer->full.empty()) last = std::max(last, std::get<0>(*writer->full.rbegin()));
  return last;
}

// One deadline per call, however many messages it sends. During finalize it is that of finalize: the server would otherwise declare the
// client dead.
Deadline Client::lane_deadline() const {
  return finalize_deadline_.value_or(Deadline::after_ms(declared_.frame->architecture.buffer_timeout_ms));
}

void Client::note_cancelled(const std::pair<std::uint32_t, std::int32_t>& key, std::int64_t step) {
  cancelled_ +=
      format("{}'{}' block {} of step {}", cancelled_.empty() ? "" : ", ", declared_.variables.path(key.first), key.second, step);
}

void Client::close_steps_below(std::int64_t step) {
  for (auto& writer : writers_) {
    for (const auto& [key, block] : writer->allocated) {
      note_cancelled(key, block.step);
      writer->arena.cancel(*block.header);
    }
    writer->allocated.clear();
    writer->scratch.clear();
    writer->more_blocks.clear();
    writer->step_bytes = 0;
  }
  steps_.end_below(step);
}

// Parameters change only between steps. A refused write does not fix the shapes of the step.
void Client::start_writing(const Wanted& wanted, std::int64_t step) {
  const auto lock = lock_step();
  if (steps_.is_writing()) return;
  require_fits(wanted, step);
  if (shapes_.parameters_changed()) shapes_.apply_parameters();
  steps_.begin_writing();
}

void Client::refresh_shapes() {
  const auto lock = lock_step();
  if (!steps_.is_writing() && shapes_.parameters_changed()) shapes_.apply_parameters();
}

void Client::push(Writer& writer, const Message& message, const Deadline& deadline) {
  if (!writer.lane.has_room()) wait_for_lane(writer, deadline);
  writer.lane.try_push(message);
}

// All or none, so that a call that failed because of a full lane can be retried.
void Client::push_to_all(const Message& message, const Deadline& deadline) {
  for (auto& writer : writers_)
    if (!writer->lane.has_room()) wait_for_lane(*writer, deadline);
  for (auto& writer : writers_) {
    Message own = message;
    if (own.kind == MessageKind::end_iteration) {
      own.count = writer->waits.load(std::memory_order_relaxed) - writer->reported_waits;
      writer->reported_waits += own.count;
    }
    writer->lane.try_push(own);
  }
}

void Client::signal(const std::string& name, std::int64_t step) {
  const int id = shapes_.names().event(name);
  if (id < 0) {
    std::vector<std::string> known;
    for (const model::Event& event : declared_.frame->events) known.push_back(event.name);
    throw Error(DC_E_UNKNOWN_NAME, format("no event '{}' in {}{}", name, declared_.frame->file, name_hint(name, known)));
  }
  link_.require_accepting();
  Writer& writer = own_writer();  // refused before the step opens
  open_step(step);
  Message message = make_message(MessageKind::signal, step);
  message.name = static_cast<std::uint32_t>(id);
  push(writer, message, lane_deadline());
  link_.ring();
  link_.pump_until(PumpResult::waiting, declared_.frame->architecture.finalize_timeout_ms);
}

void Client::set_time(std::int64_t step, double time) {
  if (!std::isfinite(time))
    throw Error(DC_E_ARGUMENT, format("the time of step {} is {}; give a finite number, or do not set it", step, time));
  Writer& writer = own_writer();  // refused before the step opens
  open_step(step);
  Message message = make_message(MessageKind::set_time, step);
  message.time = time;
  push(writer, message, lane_deadline());
}

// Sends the end to every lane, so that it covers everything that the client's threads wrote before.
Status Client::end_iteration(std::int64_t step) {
  require_step(step);
  if (step <= steps_.last_ended())
    throw Error(DC_E_BACKWARD, format("step {} has already ended for client {} (last ended: {}); steps only count upwards", step,
                                      id_, steps_.last_ended()));
  if (steps_.open() > step)
    throw Error(DC_E_BACKWARD, format("step {} cannot end: client {} is already in step {}", step, id_, steps_.open()));
  link_.require_accepting();
  const Deadline deadline = lane_deadline();
  report_omissions(step, deadline);
  push_to_all(make_message(MessageKind::end_iteration, step), deadline);
  close_steps_below(step + 1);
  link_.ring();
  const std::int64_t timeout_ms = declared_.frame->architecture.finalize_timeout_ms;
  if (!link_.pump_until(PumpResult::idle, timeout_ms))
    return {DC_E_TIMEOUT,
            format("step {} has ended here, but not in all processes: client {} waited {} ms for them", step, id_, timeout_ms)};
  return next_report(step);
}

Status Client::next_report(std::int64_t up_to_step) {
  const auto lock = lock_step();
  if (!cancelled_.empty()) {
    Status report{
        DC_E_NOT_COMMITTED,
        format("client {}: allocated but never committed, so cancelled: {}; call dc_commit before the step ends", id_, cancelled_)};
    cancelled_.clear();
    return report;
  }
  const auto report = link_.reports().take(up_to_step);
  if (!report) return mailbox_report();
  // A background server has no other channel to the user, and a program may ignore return codes.
  if (region_->header().detached != 0) log_line(report->code > DC_OK ? LogLevel::warning : LogLevel::error, report->message);
  return {report->code > DC_OK ? report->code : DC_E_EARLIER_IO, report->message};
}

Status Client::mailbox_report() {
  if (mailbox_reported_ || !shm::mailbox_damaged(region_->slot(slot_))) return {};
  mailbox_reported_ = true;
  return {DC_E_EARLIER_IO, format("the mailbox of client {} is damaged, probably by a stray write: reports to this client are {}",
                                  id_, shm::only_in_log(shm::log_of(*region_)))};
}

Status Client::flush(std::int64_t step, std::int64_t timeout_ms) {
  link_.require_accepting();
  if (step > steps_.last_ended())
    throw Error(DC_E_NOT_ENDED,
                format("flush of step {}: client {} has not ended it; call dc_end_iteration({}) first", step, id_, step));
  push(own_writer(), make_message(MessageKind::flush, step), lane_deadline());
  link_.ring();
  const auto settled = [&] { return shm::last_processed(region_->header()) >= step && link_.reports().are_complete(); };
  if (!link_.wait_until(Deadline::after_ms(timeout_ms), settled))
    throw Error(DC_E_TIMEOUT, format("step {} is not durable after {} ms: waited for {}", step, timeout_ms, link_.describe(step)));
  link_.require_not_stopping();  // a stopping server may have stored only part of the step
  Status report = next_report(step);
  if (report.code >= DC_OK && shm::is_given_up(region_->header(), step))
    return {DC_E_EARLIER_IO,
            format("step {} is not durable, or not as a whole: it was given up, as an earlier call has said", step)};
  return report;
}

void Client::throw_not_durable(std::int64_t last) {
  throw Error(DC_E_TIMEOUT,
              format("client {} leaves although its data are not durable: waited {} ms for {}{}", id_,
                     declared_.frame->architecture.finalize_timeout_ms, link_.describe(last), link_.reports().drain_text()));
}

Status Client::finalize() {
  if (finalize_deadline_) return {};
  finalize_deadline_ = Deadline::after_ms(declared_.frame->architecture.finalize_timeout_ms);
  const std::int64_t last = last_attempted_step();
  link_.require_accepting();
  report_omissions(last, *finalize_deadline_);
  close_steps_below(last + 1);
  cancel_appends();
  push_to_all(make_message(MessageKind::finalize, last), *finalize_deadline_);
  link_.ring();
  const auto drained = [&] { return state_of(region_->slot(slot_)) != shm::SlotState::attached; };
  if (!link_.wait_until(*finalize_deadline_, drained)) throw_not_durable(last);
  if (state_of(region_->slot(slot_)) == shm::SlotState::dead)
    link_.require_accepting();  // throws: a stopping server accepted no more
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  Status first = next_report(kAll);
  if (first.code == DC_E_NOT_COMMITTED) log_line(LogLevel::warning, first.message);  // a finalizing destructor returns no code
  for (Status next = first.code == DC_OK ? first : next_report(kAll); next.code != DC_OK; next = next_report(kAll)) {
    first.message += "; also: " + next.message;
    if (first.code > DC_OK) first.code = next.code;  // a damaged mailbox is reported last
  }
  return first;
}

// A shared pool counts only once: each thread has a value for all of it.
void Client::add_arena(const Writer& writer, dc_status_t& status) const {
  const std::uint64_t used = writer.used_bytes.load(std::memory_order_relaxed);
  const bool shared = writer.arena.is_shared();
  status.buffer_bytes = writer.arena.size_bytes() + (shared ? 0 : status.buffer_bytes);
  status.buffer_used_bytes = shared ? std::max(used, status.buffer_used_bytes) : status.buffer_used_bytes + used;
}

// Never waits.
dc_status_t Client::status() {
  const shm::RegionHeader& header = region_->header();
  dc_status_t status = {};
  status.last_complete = header.last_complete.load(std::memory_order_relaxed);
  status.last_durable = shm::last_durable(header);
  status.first_error = header.first_error.load(std::memory_order_relaxed);
  if (Writer* own = writer_if_any()) {  // only its owner may walk an arena; the other threads publish their use with each write
    const shm::PooledArena::Use use = own->arena.use_now();
    status.largest_hole_bytes = use.largest_hole_bytes;
    own->used_bytes.store(use.used_bytes, std::memory_order_relaxed);
  }
  for (const auto& writer : writers_) {
    add_arena(*writer, status);
    status.events_waiting += writer->lane.waiting();
    status.writes += writer->writes.load(std::memory_order_relaxed);
    status.waits += writer->waits.load(std::memory_order_relaxed);
    status.skipped += writer->skipped.load(std::memory_order_relaxed);
    status.dropped += writer->dropped.load(std::memory_order_relaxed);
  }
  status.reduced_steps = header.reduced_steps.load(std::memory_order_relaxed);
  status.spilled_bytes = header.spilled_bytes.load(std::memory_order_relaxed);
  return status;
}

}  // namespace damaris::client
