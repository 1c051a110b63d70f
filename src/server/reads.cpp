#include "server/reads.hpp"

#include <algorithm>
#include <cstring>

#include "core/shm/doorbell.hpp"

namespace damaris::server {

void Reads::take(const ReadRequest& asked) {
  ledger_.hold(asked.block);
  waiting_.push_back(asked);
}

Status Reads::fill(const ReadRequest& asked) {
  if (!asked.last_step) return host_.read(asked.read);
  std::int64_t step = shm::kNoStep;
  const Status result = host_.last_step(asked.read.variable, step);
  std::memcpy(asked.read.data, &step, sizeof step);
  return result;
}

bool Reads::serve_next() {
  if (waiting_.empty()) return false;
  const ReadRequest asked = std::move(waiting_.front());
  waiting_.pop_front();
  const Status result = fill(asked);
  shm::Answer answer = {};
  answer.code = result.code;
  std::memcpy(answer.sentence, result.message.data(), std::min(result.message.size(), sizeof answer.sentence - 1));
  std::memcpy(static_cast<std::byte*>(asked.read.data) + shm::answer_offset(asked.read.bytes), &answer, sizeof answer);
  ledger_.answer(asked.block);
  shm::notify_progress(region_.header());
  return true;
}

}  // namespace damaris::server
