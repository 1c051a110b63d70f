#include "core/base/in_callback.hpp"

namespace damaris {
namespace {

thread_local int depth = 0;

}  // namespace

std::atomic<int> InCallback::running_{0};

InCallback::InCallback() noexcept {
  running_.fetch_add(1, std::memory_order_relaxed);
  ++depth;
}

InCallback::~InCallback() {
  --depth;
  running_.fetch_sub(1, std::memory_order_relaxed);
}

bool InCallback::is_this_thread() noexcept { return depth != 0; }

}  // namespace damaris
