#include "core/shm/arena.hpp"

#include <algorithm>

namespace damaris::shm {
namespace {

constexpr std::uint64_t kNeverReset = ~0ull;
constexpr std::uint64_t kNeverSeen = ~0ull;

bool size_is_sound(std::uint64_t size, std::uint64_t room) noexcept {
  return size >= sizeof(BlockHeader) && size % kLine == 0 && size <= room;
}

bool is_reclaimable(const BlockHeader& block) noexcept {
  const BlockState state = state_of(block);
  return state == BlockState::free || state == BlockState::released;
}

}  // namespace

Arena::Arena(std::byte* base, std::uint64_t bytes, LaneHeader* lane) : Arena(existing(base, bytes, lane)) {
  own_index_ = std::make_shared<ArenaIndex>();
  index_ = own_index_.get();
  state_.reserved_bytes = lane->released.load(std::memory_order_relaxed);  // no other process uses it yet
  if (bytes_ > 0) reset();
}

Arena Arena::existing(std::byte* base, std::uint64_t bytes, LaneHeader* lane) noexcept {
  Arena arena;
  arena.base_ = base;
  arena.bytes_ = bytes / kLine * kLine;
  arena.shift_ = segment_shift(std::max(arena.bytes_, kLine));
  arena.lane_ = lane;
  return arena;
}

void Arena::make_free(std::uint64_t offset, std::uint64_t size) noexcept {
  BlockHeader* block = at(offset);
  block->magic = kBlockMagic;
  block->size_bytes.store(size, std::memory_order_relaxed);
  set_state(*block, BlockState::free);
}

std::uint64_t Arena::segment_end(std::uint64_t segment) const noexcept { return std::min((segment + 1) << shift_, bytes_); }

std::uint64_t Arena::released_in(std::uint64_t segment) const noexcept {
  const auto& counter = has_segments(bytes_) ? lane_->released_in[segment] : lane_->released;
  return counter.load(std::memory_order_acquire);
}

// The block from `offset` to `end`, the start of a hole that ended at `hole_end`, is the last one before each segment that begins in it or
// at its end. In segments that lay in the hole nothing is left to be found.
void Arena::note_boundaries(std::uint64_t offset, std::uint64_t end, std::uint64_t hole_end) noexcept {
  const std::uint64_t last = std::min(segment_of(end), segment_count() - 1);
  for (std::uint64_t segment = segment_of(offset) + 1; segment <= last; ++segment) {
    SegmentState& state = index_->segments[segment];
    state.before = offset;
    if (segment_end(segment) > hole_end) continue;
    state.seen = released_in(segment);
    state.largest = 0;
  }
}

// Returns the size of the block. Writes the remainder's header before the block shrinks, so that a walk after a kill finds whole blocks.
inline std::uint64_t Arena::split(std::uint64_t offset, std::uint64_t size, std::uint64_t need) noexcept {
  BlockHeader* block = at(offset);
  std::uint64_t taken = size;
  if (size - need >= kMinBlock) {
    make_free(offset + need, size - need);
    taken = need;
    block->size_bytes.store(need, std::memory_order_release);
    // The next block is often of the same size: prefetch its data and the header after it.
    prefetch_for_write(at(offset + need) + 1);
    prefetch_for_write(at(std::min(offset + 2 * need, bytes_ - kLine)));
  }
  const std::uint64_t end = offset + taken;
  if (segment_of(offset ^ end) != 0) note_boundaries(offset, end, offset + size);
  state_.cursor = end == bytes_ ? 0 : end;
  return taken;
}

// A size that a stray write has damaged is never handed out.
inline bool Arena::is_hole(std::uint64_t offset, std::uint64_t need) const noexcept {
  const BlockHeader& block = *at(offset);
  const std::uint64_t size = block.size_bytes.load(std::memory_order_relaxed);
  return size >= need && state_of(block) == BlockState::free && size_is_sound(size, bytes_ - offset);
}

BlockHeader* Arena::try_reserve(std::uint64_t data_bytes, Form form) noexcept {
  if (!can_ever_hold(data_bytes, form)) return nullptr;
  const std::uint64_t released = lane_->released.load(std::memory_order_acquire);
  if (released == state_.reserved_bytes && released != state_.reserved_at_reset && state_.reserved_at_reset != kNeverReset) reset();
  const std::uint64_t need = block_bytes(data_bytes, form);
  std::uint64_t offset = state_.cursor;
  if (!is_hole(offset, need) && (offset = find(need, released)) == kNoBlock) return nullptr;
  BlockHeader* block = at(offset);
  state_.reserved_bytes += split(offset, block->size_bytes.load(std::memory_order_relaxed), need);
  block->ndims = form.ndims;
  block->flags = form.flags;
  block->owner = owner_;
  set_state(*block, BlockState::reserved);
  return block;
}

// Every block has been released: avoids a search over perhaps a million blocks, and the next step reuses lines that are still cached.
void Arena::reset() noexcept {
  make_free(0, bytes_);
  state_.cursor = 0;
  state_.reserved_at_reset = state_.reserved_bytes;
  index_->segments[0] = {0, released_in(0), 0};  // the others follow as the hole reaches them
}

void Arena::cancel(BlockHeader& block) noexcept {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&block) - base_);
  release_block(block, block.size_bytes.load(std::memory_order_relaxed), *lane_, bytes_, offset);
}

// Costs nothing if nothing has been released since such a block was not found.
__attribute__((noinline)) std::uint64_t Arena::find(std::uint64_t need, std::uint64_t released) noexcept {
  const bool is_known = released == state_.failed_at;
  if (is_known && need >= state_.failed_bytes) return kNoBlock;
  const std::uint64_t found = search(need);
  if (found != kNoBlock) {
    state_.cursor = found;
  } else {
    state_.failed_bytes = is_known ? std::min(need, state_.failed_bytes) : need;
    state_.failed_at = released;
  }
  return found;
}

// From the cursor to the end, from the start to the cursor's segment, and in that from its start.
std::uint64_t Arena::search(std::uint64_t need) noexcept {
  leave_hole();
  const std::uint64_t first = segment_of(state_.cursor), count = segment_count();
  std::uint64_t found = visit(first, state_.cursor, need);
  for (std::uint64_t i = 1; i <= count && found == kNoBlock; ++i) {
    const std::uint64_t segment = (first + i) % count;
    const SegmentState& state = index_->segments[segment];
    if (state.seen != released_in(segment) || state.largest >= need) found = visit(segment, state.before, need);
  }
  return found;
}

// What lies in the hole at the cursor has not been noted yet, as each write would have had to.
void Arena::leave_hole() noexcept {
  index_->segments[segment_of(state_.cursor)].seen = kNeverSeen;
  if (!is_hole(state_.cursor, 0)) return;
  const std::uint64_t end = state_.cursor + at(state_.cursor)->size_bytes.load(std::memory_order_relaxed);
  note_boundaries(state_.cursor, end, end);
}

// Merges all holes of a segment, from the block at `from` on, until one has room for `need`; the last one may go on behind the segment.
// Returns its offset. A visit to the end of what begins before the segment is noted.
std::uint64_t Arena::visit(std::uint64_t segment, std::uint64_t from, std::uint64_t need) noexcept {
  SegmentState& state = index_->segments[segment];
  if (!is_place(from)) from = bytes_;
  const bool is_whole = from == state.before;
  const std::uint64_t seen = released_in(segment), end = segment_end(segment);
  std::uint64_t largest = 0;
  for (std::uint64_t offset = from; offset < end;) {
    std::uint64_t size = merge(offset, end, need);
    if (size >= need) {
      state.seen = kNeverSeen;
      return offset;
    }
    largest = std::max(largest, size);
    if (size == 0) size = at(offset)->size_bytes.load(std::memory_order_relaxed);
    if (!size_is_sound(size, bytes_ - offset)) break;  // damaged by a stray write: what is behind it in the segment stays unused
    offset += size;
  }
  if (is_whole) state.seen = seen, state.largest = largest;
  return kNoBlock;
}

// Makes one free block of those that follow each other from `offset` on: up to `end`, and beyond it up to `need` bytes. One store of its
// size takes the others in. Returns the size, 0 if the first is not free.
std::uint64_t Arena::merge(std::uint64_t offset, std::uint64_t end, std::uint64_t need) noexcept {
  std::uint64_t size = 0, blocks = 0;
  while (offset + size < end || (size < need && size > 0 && offset + size < bytes_)) {
    const BlockHeader& block = *at(offset + size);
    const std::uint64_t next = block.size_bytes.load(std::memory_order_relaxed);
    ++visited_;
    if (!size_is_sound(next, bytes_ - offset - size) || !is_reclaimable(block)) break;
    size += next;
    ++blocks;
  }
  if (size == 0) return 0;
  BlockHeader* hole = at(offset);
  if (blocks > 1) hole->size_bytes.store(size, std::memory_order_release);
  if (state_of(*hole) != BlockState::free) set_state(*hole, BlockState::free);
  note_boundaries(offset, offset + size, 0);
  if (offset < state_.cursor && state_.cursor < offset + size) state_.cursor = offset;
  return size;
}

// From here on the number of reserved bytes is an estimate, so only searches reclaim blocks.
void Arena::rebuild() noexcept {
  const std::uint64_t released = lane_->released.load(std::memory_order_acquire);
  state_ = {};
  state_.reserved_at_reset = kNeverReset;
  for (SegmentState& segment : index_->segments) segment = {kNoBlock, kNeverSeen, 0};
  index_->segments[0].before = 0;
  std::uint64_t held = 0;
  for (std::uint64_t offset = 0; offset < bytes_;) {
    const std::uint64_t free = merge(offset, bytes_, 0);
    const std::uint64_t size = free != 0 ? free : at(offset)->size_bytes.load(std::memory_order_relaxed);
    if (!size_is_sound(size, bytes_ - offset)) break;  // damaged by a stray write: the space behind it stays unused
    if (free == 0) held += size;
    note_boundaries(offset, offset + size, 0);
    offset += size;
  }
  state_.reserved_bytes = released + held;
}

std::uint64_t Arena::largest_hole_bytes(Form form) noexcept {
  if (bytes_ == 0 || search(kNoBlock) != kNoBlock) return 0;
  std::uint64_t largest = 0;
  for (std::uint64_t segment = 0; segment < segment_count(); ++segment)
    largest = std::max(largest, index_->segments[segment].largest);
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
