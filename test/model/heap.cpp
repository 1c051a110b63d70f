#include "model/heap.hpp"

#include <cstdlib>
#include <new>

namespace damaris::explorer {

Heap heap;

OnWatchedHeap::OnWatchedHeap() { heap.use(true); }
OnWatchedHeap::~OnWatchedHeap() { heap.use(false); }

}  // namespace damaris::explorer

using damaris::explorer::heap;

void* operator new(std::size_t bytes) {
  void* memory = heap.is_used() ? heap.take(bytes) : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (!heap.holds(memory)) std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
