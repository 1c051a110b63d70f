// Methods of copying a large array that bypass the caches, as the copying process does not read the copy again.
// Used by: copy_choice.hpp, which finds the fastest of them; client threads.
// Before it: a source anywhere, and a target. After it: the values; a process that sees the next publication sees them too.
#pragma once

#include <array>
#include <cstdint>

namespace damaris::shm {

// Streaming stores, one page after the other or four pages abreast. Which is faster depends on the processor and its memory: abreast took
// 0.6 of the time of a memcpy on a Xeon, and 1.2 of it on an EPYC, where one after the other took 0.8.
enum class CopyWay : std::uint8_t { plain, streamed, streamed_abreast };
inline constexpr std::array kCopyWays = {CopyWay::plain, CopyWay::streamed, CopyWay::streamed_abreast};

// `to`: on a boundary of 32 bytes, as the data of every block is. Where the processor has no such stores, each way is a memcpy.
void copy_by(CopyWay way, void* to, const void* from, std::uint64_t bytes) noexcept;

}  // namespace damaris::shm
