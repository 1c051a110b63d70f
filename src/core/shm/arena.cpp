#include "core/shm/arena.hpp"

#include <algorithm>

#include "core/shm/prefetch.hpp"

namespace damaris::shm {
namespace {

BlockState state_of(const BlockHeader& block, std::memory_order order) noexcept {
  return static_cast<BlockState>(block.state.load(order));
}

void set_state(BlockHeader& block, BlockState state) noexcept {
  block.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

}  // namespace

Arena::Arena(std::byte* base, std::uint64_t bytes, LaneHeader* lane) noexcept
    : base_(base),
      bytes_(bytes / kLine * kLine),
      first_free_(0),
      free_bytes_(bytes_),
      swept_(lane->released.load(std::memory_order_acquire)),
      given_(swept_),
      given_at_start_over_(swept_),
      lane_(lane) {
  make_free(0, bytes_);
  at(0)->next_free = kNoBlock;
}

void Arena::make_free(std::uint64_t offset, std::uint64_t size) noexcept {
  BlockHeader* block = at(offset);
  block->magic = kBlockMagic;
  block->size_bytes.store(size, std::memory_order_relaxed);
  set_state(*block, BlockState::free);
}

BlockHeader* Arena::try_reserve(std::uint64_t data_bytes) noexcept {
  if (!can_ever_hold(data_bytes)) return nullptr;
  const std::uint64_t released = lane_->released.load(std::memory_order_acquire);
  if (released == given_ && given_ != given_at_start_over_) start_over(released);
  const std::uint64_t need = block_bytes(data_bytes);
  BlockHeader* block = first_fit(need);
  if (block == nullptr && sweep()) block = first_fit(need);
  return block;
}

BlockHeader* Arena::first_fit(std::uint64_t need) noexcept {
  std::uint64_t previous = kNoBlock;
  for (std::uint64_t offset = first_free_; offset != kNoBlock; previous = offset, offset = at(offset)->next_free) {
    if (at(offset)->size_bytes.load(std::memory_order_relaxed) < need) continue;
    split(offset, previous, need);
    BlockHeader* block = at(offset);
    set_state(*block, BlockState::reserved);
    const std::uint64_t size = block->size_bytes.load(std::memory_order_relaxed);
    free_bytes_ -= size;
    given_ += size;
    return block;
  }
  return nullptr;
}

// The remainder gets its header before the block shrinks, so that a walk after a kill finds whole blocks at every instant.
void Arena::split(std::uint64_t offset, std::uint64_t previous, std::uint64_t need) noexcept {
  BlockHeader* block = at(offset);
  const std::uint64_t size = block->size_bytes.load(std::memory_order_relaxed);
  std::uint64_t next = block->next_free;
  if (size - need >= kMinBlock) {
    make_free(offset + need, size - need);
    at(offset + need)->next_free = next;
    next = offset + need;
    block->size_bytes.store(need, std::memory_order_release);
    // The next block is often of the same size: its data, and the header after it, are on their way before it is asked for.
    prefetch_for_write(at(offset + need) + 1);
    prefetch_for_write(at(std::min(offset + 2 * need, bytes_ - kLine)));
  }
  (previous == kNoBlock ? first_free_ : at(previous)->next_free) = next;
}

// Everything is back: no walk over what may be a million blocks, and the next step goes where the caches were last.
void Arena::start_over(std::uint64_t released) noexcept {
  make_free(0, bytes_);
  at(0)->next_free = kNoBlock;
  first_free_ = 0;
  free_bytes_ = bytes_;
  swept_ = released;
  given_at_start_over_ = given_;
  cancelled_ = false;
}

void Arena::cancel(BlockHeader* block) noexcept {
  given_ -= block->size_bytes.load(std::memory_order_relaxed);
  set_state(*block, BlockState::free);
  cancelled_ = true;
}

// Walks the arena once, merges neighbours that are free or released and rebuilds the free list in address order.
// Returns false, without a walk, when nothing was released since the last one.
bool Arena::sweep() noexcept {
  const std::uint64_t released = lane_->released.load(std::memory_order_acquire);
  if (released == swept_ && !cancelled_) return false;
  swept_ = released;
  cancelled_ = false;
  free_bytes_ = 0;
  std::uint64_t* link = &first_free_;
  std::uint64_t hole = kNoBlock;  // start of the run of free blocks being merged
  for (std::uint64_t offset = 0; offset < bytes_;) {
    const std::uint64_t size = at(offset)->size_bytes.load(std::memory_order_relaxed);
    const BlockState state = state_of(*at(offset), std::memory_order_acquire);
    if (state == BlockState::free || state == BlockState::released) {
      free_bytes_ += size;
      if (hole == kNoBlock) {
        hole = offset;
        set_state(*at(hole), BlockState::free);
        *link = hole;
        link = &at(hole)->next_free;
      } else {
        at(hole)->size_bytes.store(offset + size - hole, std::memory_order_release);
      }
    } else {
      hole = kNoBlock;
    }
    offset += size;
  }
  *link = kNoBlock;
  return true;
}

std::uint64_t Arena::used_bytes() noexcept {
  sweep();
  return bytes_ - free_bytes_;
}

std::uint64_t Arena::largest_hole_bytes() noexcept {
  sweep();
  std::uint64_t largest = 0;
  for (std::uint64_t offset = first_free_; offset != kNoBlock; offset = at(offset)->next_free)
    largest = std::max(largest, at(offset)->size_bytes.load(std::memory_order_relaxed));
  return largest < sizeof(BlockHeader) ? 0 : largest - sizeof(BlockHeader);
}

bool walk_arena(std::byte* base, std::uint64_t bytes, const std::function<void(BlockHeader&, std::uint64_t)>& visit) {
  for (std::uint64_t offset = 0; offset < bytes;) {
    if (bytes - offset < sizeof(BlockHeader)) return false;
    auto& block = *reinterpret_cast<BlockHeader*>(base + offset);
    const std::uint64_t size = block.size_bytes.load(std::memory_order_acquire);
    if (block.magic != kBlockMagic || size < sizeof(BlockHeader) || size % kLine != 0 || size > bytes - offset) return false;
    visit(block, offset);
    offset += size;
  }
  return true;
}

}  // namespace damaris::shm
