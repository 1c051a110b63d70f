#include "mpi/coordinator.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <list>

namespace damaris::mpi {
namespace {

using server::Decision;
using server::InstanceKey;

constexpr int kTag = 1;
constexpr int kSequencer = 0;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

}  // namespace

MpiCoordinator::Message MpiCoordinator::make_message(Kind kind, const InstanceKey& key) {
  Message message;
  message.kind = kind;
  message.event = key.event;
  message.instance = key.instance;
  message.step = key.step;
  return message;
}

MpiCoordinator::MpiCoordinator(std::shared_ptr<Channels> channels, Needs needs, bool in_place)
    : channels_(std::move(channels)),
      needs_(needs),
      in_place_(in_place),
      index_(channels_->messages.rank()),
      count_(channels_->messages.size()),
      completed_by_(static_cast<std::size_t>(count_), -1) {}

// Buffers must outlive their requests; after leave() none are pending.
MpiCoordinator::~MpiCoordinator() {
  if (!creator_.is_this_process()) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  // Destroyed before all servers were done: leaks the communicator, so that a pending message can never match a later communicator with the
  // same context id. Not every MPI can cancel a send: MPI may read these bytes as long as the process lives.
  if (communicates() && !has_left_) (void)channels_->messages.release();
  static std::list<std::deque<PendingTransfer>>& unreceived = *new std::list<std::deque<PendingTransfer>>();
  if (!sending_.empty()) unreceived.push_back(std::move(sending_));
  for (PendingTransfer& transfer : arriving_)
    if (transfer.request != MPI_REQUEST_NULL) {
      MPI_Cancel(&transfer.request);
      MPI_Wait(&transfer.request, MPI_STATUS_IGNORE);
    }
}

void MpiCoordinator::send(int to, const Message& message, const std::string& post) {
  if (to == index_) return handle(index_, message, post);
  PendingTransfer& transfer = sending_.emplace_back();
  transfer.bytes.assign(reinterpret_cast<const char*>(&message), sizeof message);
  transfer.bytes += post;
  check(
      MPI_Issend(transfer.bytes.data(), static_cast<int>(transfer.bytes.size()), MPI_BYTE, to, kTag, messages(), &transfer.request),
      "MPI_Issend");
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

// Never blocks on a long message: posts its receive and keeps its position in the order.
void MpiCoordinator::post_receives() {
  while (true) {
    int there = 0, bytes = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, kTag, messages(), &there, &status), "MPI_Iprobe");
    if (there == 0) return;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    PendingTransfer& transfer = arriving_.emplace_back();
    transfer.from = status.MPI_SOURCE;
    transfer.bytes.resize(static_cast<std::size_t>(bytes));
    check(MPI_Irecv(transfer.bytes.data(), bytes, MPI_BYTE, transfer.from, kTag, messages(), &transfer.request), "MPI_Irecv");
  }
}

void MpiCoordinator::receive_all() {
  post_receives();
  while (!arriving_.empty()) {
    int done = 0;
    check(MPI_Test(&arriving_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0) return;
    const PendingTransfer transfer = std::move(arriving_.front());
    arriving_.pop_front();
    Message message;
    if (transfer.bytes.size() < sizeof message) throw Error(DC_E_INTERNAL, format("server {} sent half a message", transfer.from));
    std::memcpy(&message, transfer.bytes.data(), sizeof message);
    handle(transfer.from, message, transfer.bytes.substr(sizeof message));
  }
}

void MpiCoordinator::exchange() {
  prune_sent();
  receive_all();
}

void MpiCoordinator::handle(int from, const Message& message, std::string post) {
  const InstanceKey key{message.event, message.step, message.instance};
  switch (message.kind) {
    case kAnnounce:
      return on_announce(from, key);
    case kComplete:
      return on_complete(from, message.step);
    case kAbandon:
      return on_abandon(key);
    case kRun:
      decisions_.push_back({key, true, message.order});
      return;
    case kCancel:
      decisions_.push_back({key, false, 0});
      return;
    case kAgreed:
      agreed_ = std::max(agreed_, message.step);
      return;
    case kDone:
      all_done_ = true;
      return;
    case kPost:
      posts_.push_back({from, message.plugin, std::move(post)});
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

void MpiCoordinator::on_announce(int from, const InstanceKey& key) {
  std::set<int>& announced = announced_[key];
  announced.insert(from);
  const bool run = static_cast<int>(announced.size()) == count_;
  if (!run && !can_never_run(key, announced)) return;
  announced_.erase(key);
  Message message = make_message(run ? kRun : kCancel, key);
  if (run) message.order = next_order_++;
  send_all(message);
}

// A decision is final: a server that abandons the instance later still receives it, and logs that.
void MpiCoordinator::on_abandon(const InstanceKey& key) {
  if (announced_.erase(key) != 0) send_all(make_message(kCancel, key));
}

void MpiCoordinator::on_complete(int from, std::int64_t step) {
  std::int64_t& completed = completed_by_[static_cast<std::size_t>(from)];
  const std::int64_t all_before = *std::min_element(completed_by_.begin(), completed_by_.end());
  completed = std::max(completed, step);
  for (auto entry = announced_.begin(); entry != announced_.end();) {
    if (!can_never_run(entry->first, entry->second)) {
      ++entry;
      continue;
    }
    send_all(make_message(kCancel, entry->first));
    entry = announced_.erase(entry);
  }
  const std::int64_t all_now = *std::min_element(completed_by_.begin(), completed_by_.end());
  if (all_now == all_before) return;
  Message message;
  message.kind = all_now == kEnd ? kDone : kAgreed;
  message.step = all_now;
  if (all_now == kEnd || in_place_) send_all(message);
}

void MpiCoordinator::announce(const InstanceKey& key) { send(kSequencer, make_message(kAnnounce, key)); }

void MpiCoordinator::abandon(const InstanceKey& key) { send(kSequencer, make_message(kAbandon, key)); }

void MpiCoordinator::complete(std::int64_t step) {
  if (!communicates() || step <= completed_) return;
  completed_ = step;
  Message message;
  message.kind = kComplete;
  message.step = step;
  send(kSequencer, message);
}

bool MpiCoordinator::post(int to, std::uint32_t plugin, std::string bytes) {
  if (to < 0 || to >= count_ || (to != index_ && (!communicates() || leaving_ != MPI_REQUEST_NULL))) return false;
  Message message;
  message.kind = kPost;
  message.plugin = plugin;
  send(to, message, bytes);
  return true;
}

std::optional<server::Post> MpiCoordinator::next_post() {
  if (communicates()) exchange();
  if (posts_.empty()) return std::nullopt;
  server::Post post = std::move(posts_.front());
  posts_.pop_front();
  return post;
}

std::optional<Decision> MpiCoordinator::poll() {
  if (communicates()) exchange();
  if (decisions_.empty()) return std::nullopt;
  const Decision decision = decisions_.front();
  decisions_.pop_front();
  return decision;
}

// The caller has called complete(kEnd). Server 0 sends kDone once all servers have, but a plugin may still answer what it was sent before.
// So a server enters the barrier when all that it has sent was received (which a synchronous send shows), and receives until all have
// entered: then nothing is under way on this communicator, whose context id a later one may get.
bool MpiCoordinator::leave() {
  if (!communicates() || has_left_) return true;
  exchange();
  if (!all_done_ || !sending_.empty() || !posts_.empty()) return false;
  if (leaving_ == MPI_REQUEST_NULL) check(MPI_Ibarrier(messages(), &leaving_), "MPI_Ibarrier");
  int all = 0;
  check(MPI_Test(&leaving_, &all, MPI_STATUS_IGNORE), "MPI_Test");
  has_left_ = all != 0;
  return has_left_;
}

}  // namespace damaris::mpi
