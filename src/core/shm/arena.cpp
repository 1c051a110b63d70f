#include "core/shm/arena.hpp"

#include <algorithm>

#include "core/shm/prefetch.hpp"

namespace damaris::shm {
namespace {

bool size_is_sound(std::uint64_t size, std::uint64_t room) noexcept {
  return size >= sizeof(BlockHeader) && size % kLine == 0 && size <= room;
}

}  // namespace

Arena::Arena(std::byte* base, std::uint64_t bytes, LaneHeader* lane) noexcept
    : base_(base), bytes_(bytes / kLine * kLine), lane_(lane) {
  state_.reserved_bytes = lane->released.load(std::memory_order_relaxed);
  reset(state_.reserved_bytes);
}

Arena Arena::existing(std::byte* base, std::uint64_t bytes, LaneHeader* lane) noexcept {
  Arena arena;
  arena.base_ = base;
  arena.bytes_ = bytes / kLine * kLine;
  arena.lane_ = lane;
  return arena;
}

void Arena::make_free(std::uint64_t offset, std::uint64_t size) noexcept {
  BlockHeader* block = at(offset);
  block->magic = kBlockMagic;
  block->size_bytes.store(size, std::memory_order_relaxed);
  set_state(*block, BlockState::free);
}

// Always ascending, even after a stray write by this program or by one that shares the pool, so that a walk of the list terminates.
std::uint64_t Arena::next_free(std::uint64_t offset) const noexcept { return checked_offset(at(offset)->next_free, offset + 1); }

// Returns the size of the block. Writes the remainder's header before the block shrinks, so that a walk after a kill finds whole blocks.
std::uint64_t Arena::split(std::uint64_t offset, std::uint64_t previous, std::uint64_t size, std::uint64_t need) noexcept {
  BlockHeader* block = at(offset);
  std::uint64_t next = next_free(offset);
  std::uint64_t taken = size;
  if (size - need >= kMinBlock) {
    make_free(offset + need, size - need);
    at(offset + need)->next_free = next;
    next = offset + need;
    taken = need;
    block->size_bytes.store(need, std::memory_order_release);
    // The next block is often of the same size: prefetch its data and the header after it.
    prefetch_for_write(at(offset + need) + 1);
    prefetch_for_write(at(std::min(offset + 2 * need, bytes_ - kLine)));
  }
  (previous == kNoBlock ? state_.first_free : at(previous)->next_free) = next;
  return taken;
}

// Inline: on the path of every write.
inline BlockHeader* Arena::first_fit(std::uint64_t need, Form form) noexcept {
  std::uint64_t previous = kNoBlock;
  for (std::uint64_t offset = state_.first_free; offset < bytes_; previous = offset, offset = next_free(offset)) {
    const std::uint64_t room = at(offset)->size_bytes.load(std::memory_order_relaxed);
    if (room < need) continue;
    if (!size_is_sound(room, bytes_ - offset)) return nullptr;  // damaged by a stray write: treat the arena as full
    const std::uint64_t size = split(offset, previous, room, need);
    BlockHeader* block = at(offset);
    block->ndims = form.ndims;
    block->flags = form.flags;
    block->next_free = owner_;
    set_state(*block, BlockState::reserved);
    state_.free_bytes -= size;
    state_.reserved_bytes += size;
    return block;
  }
  return nullptr;
}

BlockHeader* Arena::try_reserve(std::uint64_t data_bytes, Form form) noexcept {
  if (!can_ever_hold(data_bytes, form)) return nullptr;
  const std::uint64_t released = lane_->released.load(std::memory_order_acquire);
  if (released == state_.reserved_bytes && state_.reserved_bytes != state_.reserved_at_reset) reset(released);
  const std::uint64_t need = block_bytes(data_bytes, form);
  BlockHeader* block = first_fit(need, form);
  if (block == nullptr && sweep()) block = first_fit(need, form);
  return block;
}

// Every block has been released: avoids a walk over perhaps a million blocks, and the next step reuses lines that are still cached.
void Arena::reset(std::uint64_t released) noexcept {
  make_free(0, bytes_);
  at(0)->next_free = kNoBlock;
  state_.first_free = 0;
  state_.free_bytes = bytes_;
  state_.swept = released;
  state_.reserved_at_reset = state_.reserved_bytes;
}

void Arena::cancel(BlockHeader& block) noexcept { release_block(block, block.size_bytes.load(std::memory_order_relaxed), *lane_); }

// Returns false, without a walk, if nothing has been released since the last one.
bool Arena::sweep() noexcept {
  if (lane_->released.load(std::memory_order_relaxed) == state_.swept) return false;
  walk_and_merge();
  return true;
}

// Merges adjacent free and released blocks and rebuilds the free list in address order.
void Arena::walk_and_merge() noexcept {
  state_.swept = lane_->released.load(std::memory_order_acquire);
  state_.free_bytes = 0;
  std::uint64_t* link = &state_.first_free;
  std::uint64_t hole = kNoBlock;  // start of the run of free blocks being merged
  for (std::uint64_t offset = 0; offset < bytes_;) {
    const std::uint64_t size = at(offset)->size_bytes.load(std::memory_order_relaxed);
    if (!size_is_sound(size, bytes_ - offset)) break;  // damaged by a stray write: the space behind it stays unused
    const BlockState state = state_of(*at(offset));
    if (state == BlockState::free || state == BlockState::released) {
      state_.free_bytes += size;
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
}

// From here on the number of reserved bytes is unknown, so only sweeps reclaim blocks.
void Arena::rebuild() noexcept {
  constexpr std::uint64_t kNeverReleased = 1ull << 63;
  state_.reserved_bytes = kNeverReleased;
  walk_and_merge();
}

std::uint64_t Arena::used_bytes() noexcept {
  sweep();
  return bytes_ - state_.free_bytes;
}

std::uint64_t Arena::largest_hole_bytes(Form form) noexcept {
  sweep();
  std::uint64_t largest = 0;
  for (std::uint64_t offset = state_.first_free; offset < bytes_; offset = next_free(offset))
    largest = std::max(largest, at(offset)->size_bytes.load(std::memory_order_relaxed));
  return largest < header_bytes(form) ? 0 : largest - header_bytes(form);
}

bool walk_arena(std::byte* base, std::uint64_t bytes, std::uint64_t readable, const VisitBlock& visit) {
  for (std::uint64_t offset = 0; offset < bytes;) {
    if (offset >= readable || readable - offset < sizeof(BlockHeader)) return false;
    auto& block = *reinterpret_cast<BlockHeader*>(base + offset);
    const std::uint64_t size = block.size_bytes.load(std::memory_order_acquire);
    if (block.magic != kBlockMagic || !size_is_sound(size, bytes - offset)) return false;
    if (size > readable - offset && state_of(block) != BlockState::free) return false;
    visit(block, offset);
    offset += size;
  }
  return true;
}

}  // namespace damaris::shm
