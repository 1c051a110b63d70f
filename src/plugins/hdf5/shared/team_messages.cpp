#include "team.hpp"

#include "../file/handle.hpp"

#ifdef H5_HAVE_PARALLEL

#include <unistd.h>

#include <utility>

#include "team_channel.hpp"

namespace damaris::hdf5 {
namespace {

constexpr int kMessageTag = 9;
constexpr useconds_t kLookEveryUs = 20;
constexpr const char* kDoing = "send a message to a server of the file";

}  // namespace

// Returns whether anything has moved. Takes at most one message, and as many as have been sent.
bool Team::serve_once(const Receive& receive) {
  Channel& at = *channel_;
  bool moved = false;
  while (!at.sending.empty()) {
    int gone = 0;
    check_mpi(MPI_Test(&at.sending.front().request, &gone, MPI_STATUS_IGNORE), kDoing);
    if (gone == 0) break;
    at.sending_bytes -= at.sending.front().bytes.size();
    at.sending.pop_front();
    moved = true;
  }
  if (!at.arriving) {
    int there = 0, bytes = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kMessageTag, at.comm, &there, &status), kDoing);
    if (there == 0) return moved;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), kDoing);
    Channel::Underway& message = at.arriving.emplace();
    message.from = status.MPI_SOURCE;
    message.bytes.resize(static_cast<std::size_t>(bytes));
    check_mpi(MPI_Irecv(message.bytes.data(), bytes, MPI_BYTE, message.from, kMessageTag, at.comm, &message.request), kDoing);
  }
  int there = 0;
  check_mpi(MPI_Test(&at.arriving->request, &there, MPI_STATUS_IGNORE), kDoing);
  if (there == 0) return moved;
  const Channel::Underway message = std::move(*at.arriving);
  at.arriving.reset();
  receive(message.from, message.bytes);
  return true;
}

void Team::serve(const Receive& receive) {
  while (serve_once(receive)) {
  }
}

// The limit is for the time in which nothing moves.
void Team::serve_until(const std::function<bool()>& done, const Receive& receive) {
  require_whole();
  const std::int64_t limit_ms = kWorkTimes * timeout_ms_;
  Deadline until(limit_ms);
  while (!done()) {
    if (serve_once(receive)) {
      until = Deadline(limit_ms);
      continue;
    }
    if (until.is_over()) fail_late(limit_ms);
    ::usleep(kLookEveryUs);
  }
}

void Team::serve_until_sent(const Receive& receive) {
  serve_until([&] { return channel_->sending.empty(); }, receive);
}

void Team::send(int to, Message message, const Receive& receive) {
  Channel& at = *channel_;
  serve_until([&] { return at.sending.empty() || at.sending_bytes + message.size() <= kUnderwayBytes; }, receive);
  Channel::Underway& sent = at.sending.emplace_back();
  sent.bytes = std::move(message);
  at.sending_bytes += sent.bytes.size();
  check_mpi(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, to, kMessageTag, at.comm, &sent.request),
            kDoing);
}

}  // namespace damaris::hdf5

#endif
