#include "core/shm/copy_choice.hpp"

#include "core/base/clock.hpp"
#include "core/base/thread_state_guard.hpp"

namespace damaris::shm {

std::size_t CopyChoice::class_of(std::uint64_t bytes) noexcept {
  std::size_t result = 0;
  for (std::uint64_t times = bytes / kLargeCopyBytes; times > 1 && result + 1 < kClasses; times /= 2) ++result;
  return result;
}

CopyMethod CopyChoice::next(std::uint64_t bytes) noexcept {
  const unsigned number = at(bytes).started.fetch_add(1, std::memory_order_relaxed);
  return kCopyMethods[(number + number / kCopyMethods.size()) % kCopyMethods.size()];
}

void CopyChoice::record(CopyMethod method, std::uint64_t bytes, double seconds) noexcept {
  Class& here = at(bytes);
  const double took = seconds / static_cast<double>(bytes);
  std::atomic<double>& best = here.best_s_per_byte[static_cast<std::size_t>(method)];
  double known = best.load(std::memory_order_relaxed);
  while ((known == 0 || took < known) && !best.compare_exchange_weak(known, took, std::memory_order_relaxed)) {
  }
  if (here.measured.fetch_add(1, std::memory_order_relaxed) + 1 != kMeasurements) return;
  CopyMethod fastest = CopyMethod::plain;
  double least = 0;
  for (const CopyMethod one : kCopyMethods) {
    const double its = here.best_s_per_byte[static_cast<std::size_t>(one)].load(std::memory_order_relaxed);
    if (its > 0 && (least == 0 || its < least)) fastest = one, least = its;
  }
  here.kept.store(fastest, std::memory_order_relaxed);
}

void copy_large(void* to, const void* from, std::uint64_t bytes) noexcept {
  static CopyChoice choice;
  if (choice.is_decided(bytes)) return copy_by(choice.kept(bytes), to, from, bytes);
  const ThreadStateGuard thread_state;
  const CopyMethod method = choice.next(bytes);
  const Clock::time_point start = Clock::now();
  copy_by(method, to, from, bytes);
  choice.record(method, bytes, seconds_since(start));
}

}  // namespace damaris::shm
