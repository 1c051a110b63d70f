#include "mpi/coordinator.hpp"

#include <algorithm>
#include <limits>

namespace damaris::mpi {
namespace {

using server::Decision;
using server::InstanceKey;

constexpr int kTag = 1;
constexpr int kSequencer = 0;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

}  // namespace

MpiCoordinator::Message MpiCoordinator::about(Kind kind, const InstanceKey& key) {
  Message message;
  message.kind = kind;
  message.event = key.event;
  message.instance = key.instance;
  message.step = key.step;
  return message;
}

MpiCoordinator::MpiCoordinator(std::shared_ptr<Channels> channels, bool globals, bool in_place)
    : channels_(std::move(channels)),
      globals_(globals),
      in_place_(in_place),
      index_(channels_->messages.rank()),
      count_(channels_->messages.size()),
      completed_by_(static_cast<std::size_t>(count_), -1) {}

// Buffers must outlive their sends; after leave() nothing is under way.
MpiCoordinator::~MpiCoordinator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (Sending& sending : sending_)
    if (sending.request != MPI_REQUEST_NULL) {
      MPI_Cancel(&sending.request);
      MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    }
}

void MpiCoordinator::send(int to, const Message& message) {
  if (to == index_) return handle(index_, message);
  Sending& sending = sending_.emplace_back();
  sending.message = message;
  check(MPI_Isend(&sending.message, sizeof(Message), MPI_BYTE, to, kTag, messages(), &sending.request), "MPI_Isend");
}

void MpiCoordinator::send_all(const Message& message) {
  for (int to = 0; to < count_; ++to) send(to, message);
}

void MpiCoordinator::prune_sent() {
  while (!sending_.empty()) {
    int done = 0;
    check(MPI_Test(&sending_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) return;
    sending_.pop_front();
  }
}

void MpiCoordinator::receive_all() {
  while (true) {
    int there = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, kTag, messages(), &there, &status), "MPI_Iprobe");
    if (there == 0) return;
    Message message;
    check(MPI_Recv(&message, sizeof message, MPI_BYTE, status.MPI_SOURCE, kTag, messages(), MPI_STATUS_IGNORE), "MPI_Recv");
    handle(status.MPI_SOURCE, message);
  }
}

void MpiCoordinator::handle(int from, const Message& message) {
  const InstanceKey key{message.event, message.step, message.instance};
  switch (message.kind) {
    case kAnnounce:
      return note_announced(from, key);
    case kComplete:
      return note_complete(from, message.step);
    case kAbandon:
      return note_abandoned(key);
    case kRun:
      decisions_.push_back({key, true, message.order});
      return;
    case kCancel:
      decisions_.push_back({key, false, 0});
      return;
    case kAgreed:
      agreed_ = std::max(agreed_, message.step);
      return;
    case kBye:
      bye_ = true;
      return;
    default:
      throw Error(DC_E_INTERNAL, format("server {} sent a message of unknown kind {}", from, message.kind));
  }
}

bool MpiCoordinator::can_never_run(const InstanceKey& key, const std::set<int>& announced) const {
  for (int server = 0; server < count_; ++server)
    if (completed_by_[static_cast<std::size_t>(server)] >= key.step && announced.count(server) == 0) return true;
  return false;
}

void MpiCoordinator::note_announced(int from, const InstanceKey& key) {
  std::set<int>& announced = announced_[key];
  announced.insert(from);
  const bool run = static_cast<int>(announced.size()) == count_;
  if (!run && !can_never_run(key, announced)) return;
  announced_.erase(key);
  Message message = about(run ? kRun : kCancel, key);
  if (run) message.order = next_order_++;
  send_all(message);
}

// Once decided it stays decided: who abandoned it too late hears of it and says so.
void MpiCoordinator::note_abandoned(const InstanceKey& key) {
  if (announced_.erase(key) != 0) send_all(about(kCancel, key));
}

void MpiCoordinator::note_complete(int from, std::int64_t step) {
  std::int64_t& completed = completed_by_[static_cast<std::size_t>(from)];
  const std::int64_t all_before = *std::min_element(completed_by_.begin(), completed_by_.end());
  completed = std::max(completed, step);
  for (auto entry = announced_.begin(); entry != announced_.end();) {
    if (!can_never_run(entry->first, entry->second)) {
      ++entry;
      continue;
    }
    send_all(about(kCancel, entry->first));
    entry = announced_.erase(entry);
  }
  const std::int64_t all_now = *std::min_element(completed_by_.begin(), completed_by_.end());
  if (all_now == all_before) return;
  Message message;
  message.kind = all_now == kEnd ? kBye : kAgreed;
  message.step = all_now;
  if (all_now == kEnd || in_place_) send_all(message);
}

void MpiCoordinator::announce(const InstanceKey& key) { send(kSequencer, about(kAnnounce, key)); }

void MpiCoordinator::abandon(const InstanceKey& key) { send(kSequencer, about(kAbandon, key)); }

void MpiCoordinator::complete(std::int64_t step) {
  if (!globals_ || step <= completed_) return;
  completed_ = step;
  Message message;
  message.kind = kComplete;
  message.step = step;
  send(kSequencer, message);
}

std::optional<Decision> MpiCoordinator::poll() {
  if (!globals_) return std::nullopt;
  prune_sent();
  receive_all();
  if (decisions_.empty()) return std::nullopt;
  const Decision decision = decisions_.front();
  decisions_.pop_front();
  return decision;
}

// The caller has said complete(kEnd); server 0 says bye when all have, and by then every message has arrived.
bool MpiCoordinator::leave() {
  if (!globals_) return true;
  prune_sent();
  receive_all();
  return bye_ && sending_.empty();
}

}  // namespace damaris::mpi
