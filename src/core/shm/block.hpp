// The binary format of a block in an arena: a header no longer than its lists require, then the data.
// Used by: client threads, which fill it; the server and recovery, which read it and do not trust it (server/intake.hpp).
// Before it: an arena has room. After it: the published block, announced through the lane; then the released or the answered one.
//
// [fixed part: 56 bytes | consecutive lists | padding to a whole line | data]. The lists, all in C order, are extents, position, global,
// ghost_low, ghost_high: ndims numbers each, of 8 bytes, for ghost zones of 4; absent lists take no space. So the header of a
// one-dimensional dataset without a position is one line; in three dimensions, positioned in a global array, it is two; at most it is five.
// The offset of the data follows from the lists that are present, the block's form: a client takes it from its variable, the server from
// its own copy of the header, after checking that the form is valid and the block long enough.
#pragma once

#include <damaris/damaris.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/shm/lane.hpp"

namespace damaris::shm {

enum class BlockState : std::uint32_t {
  free = 1,       // C: part of the free list, or to be merged
  reserved = 2,   // C: being filled
  published = 3,  // C release: belongs to the server
  released = 4,   // S release, or C for a block that it cancels: the client may merge it
  requested = 5,  // C release: belongs to the server, which fills it with the data of a read
  answered = 6,   // S release: the client may read it, then releases it like a cancelled block
  abandoned = 7,  // C: the client has abandoned the read; the server releases the block
};

inline constexpr std::uint16_t kBlockMagic = 0x4b44;  // "DK"

// Blocks follow each other without gaps, so the arena can be walked from its start.
// C writes all fields while reserved; S reads them after published (acquire) and writes only `state`. In a free block only magic, state
// and size_bytes are valid.
struct alignas(kLine) BlockHeader {
  std::uint16_t magic;
  std::uint8_t ndims;
  std::uint8_t flags;  // kHas...: the lists that follow the extents, and the checksum
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint64_t> size_bytes;  // header included; one store moves a boundary, so a walk never sees half a split
  std::uint64_t owner;                    // C: its slot
  std::uint64_t data_bytes;
  std::int64_t step;
  std::uint32_t variable;
  std::int32_t source;
  std::int32_t block;
  std::uint32_t checksum;  // of the data, with kHasChecksum: codec/checksum.hpp
  std::int64_t
      first_list;  // of an append: its offset in the file of its log. The lists continue behind the end of the struct: see Lists
};
inline constexpr std::uint8_t kHasPosition = 1, kHasGlobal = 2, kHasGhost = 4, kHasChecksum = 8,
                              kIsAppend = 16;  // bytes of a log; kAppendForm
static_assert(sizeof(BlockHeader) == kLine);

// Which lists a block has, and the number of lines of its header.
struct Form {
  std::uint8_t ndims = 0, flags = 0;
  std::uint16_t lines = 1;

  constexpr Form() = default;
  constexpr Form(int dimensions, int lists)
      : ndims(static_cast<std::uint8_t>(dimensions)), flags(static_cast<std::uint8_t>(lists)) {
    const int kinds = 1 + (has(kHasPosition) ? 1 : 0) + (has(kHasGlobal) ? 1 : 0) + (has(kHasGhost) ? 1 : 0);
    const auto end = offsetof(BlockHeader, first_list) + static_cast<std::size_t>(ndims * kinds) * sizeof(std::int64_t);
    if (end > kLine) lines = static_cast<std::uint16_t>((end + kLine - 1) / kLine);
  }
  constexpr bool has(std::uint8_t flag) const noexcept { return (flags & flag) != 0; }
  constexpr bool is_append() const noexcept { return ndims == 0 && flags == kIsAppend; }
  constexpr bool is_valid() const noexcept {
    return ndims <= DC_MAX_DIMS && ((flags & ~(kHasPosition | kHasGlobal | kHasGhost | kHasChecksum)) == 0 || is_append());
  }
};
// Bytes of a log belong to no step and have no lists: `variable` is the log, `block` the thread of the client, `step` kNoStep.
inline constexpr Form kAppendForm{0, kIsAppend};
static_assert(kAppendForm.lines == 1);
inline constexpr Form kAllLists{DC_MAX_DIMS, kHasPosition | kHasGlobal | kHasGhost};

// The offset of the data from the start of the block.
constexpr std::uint64_t header_bytes(Form form) noexcept { return form.lines * kLine; }
inline constexpr std::uint64_t kLongestHeader = header_bytes(kAllLists);
static_assert(kLongestHeader == 320);

constexpr std::uint64_t block_bytes(std::uint64_t data_bytes, Form form) noexcept {
  return round_up(data_bytes + header_bytes(form), kLine);
}
inline std::byte* data_of(BlockHeader* block, Form form) noexcept {
  return reinterpret_cast<std::byte*>(block) + header_bytes(form);
}

// Locates the lists of a header; only those of `form` are present.
template <class Header>
class Lists {
  template <class Number>
  using List = std::conditional_t<std::is_const_v<Header>, const Number, Number>*;

 public:
  Lists(Header& header, Form form) noexcept
      : first_(
            reinterpret_cast<List<std::int64_t>>(reinterpret_cast<List<std::byte>>(&header) + offsetof(BlockHeader, first_list))),
        form_(form) {}

  List<std::int64_t> extents() const noexcept { return first_; }
  List<std::int64_t> position() const noexcept { return first_ + form_.ndims; }
  List<std::int64_t> global() const noexcept { return position() + (form_.has(kHasPosition) ? form_.ndims : 0); }
  List<std::uint32_t> ghost_low() const noexcept {
    return reinterpret_cast<List<std::uint32_t>>(global() + (form_.has(kHasGlobal) ? form_.ndims : 0));
  }
  List<std::uint32_t> ghost_high() const noexcept { return ghost_low() + form_.ndims; }

 private:
  List<std::int64_t> first_;
  Form form_;
};

// A header stored apart from its block, with room for all lists.
struct alignas(BlockHeader) LongHeader {
  std::byte bytes[kLongestHeader] = {};

  BlockHeader& get() noexcept { return *reinterpret_cast<BlockHeader*>(bytes); }
};

// Behind the data of a requested block, at answer_offset: S writes it before answered, C reads it after.
struct Answer {
  std::int32_t code;
  char sentence[1020];
};

inline constexpr std::uint64_t kMinBlock = sizeof(BlockHeader) + kLine;

// Offset from the start of the data. A requested block extends to the end of its answer.
constexpr std::uint64_t answer_offset(std::uint64_t data_bytes) { return round_up(data_bytes, kLine); }
constexpr std::uint64_t request_bytes(std::uint64_t data_bytes) { return answer_offset(data_bytes) + sizeof(Answer); }

// As the states in layout.hpp.
inline BlockState state_of(const BlockHeader& block) noexcept {
  return static_cast<BlockState>(block.state.load(std::memory_order_acquire));
}
inline void set_state(BlockHeader& block, BlockState state) noexcept {
  block.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

// Client: gives the block, filled, to the server, and pushes the message that announces it. `state`: published, or requested. Precondition: the lane has room, which the caller has checked; only its thread pushes to the lane. A
// client killed between the two stores leaves a block that recovery finds.
inline void publish_block(BlockHeader& block, BlockState state, LaneWriter& lane, const Message& message) noexcept {
  set_state(block, state);
  lane.try_push(message);
}

// Client: abandons the read into a requested block. Returns false if the answer has already arrived.
inline bool abandon_read(BlockHeader& block) noexcept {
  auto asked = static_cast<std::uint32_t>(BlockState::requested);
  return block.state.compare_exchange_strong(asked, static_cast<std::uint32_t>(BlockState::abandoned), std::memory_order_acquire);
}

// Server: marks the block as answered. Returns false if the client has abandoned the read.
inline bool answer(BlockHeader& block) noexcept {
  auto asked = static_cast<std::uint32_t>(BlockState::requested);
  return block.state.compare_exchange_strong(asked, static_cast<std::uint32_t>(BlockState::answered), std::memory_order_release,
                                             std::memory_order_relaxed);
}

}  // namespace damaris::shm
