// The checksum of a block of memory: CRC-32, as the storage writes it into the commit record.
// Used by: clients at hand-over, any thread.
// Before it: the data of a block. After it: the block's header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris {

// Units: bytes. Threads: any; pure.
std::uint32_t checksum(const void* data, std::size_t size_bytes) noexcept;

}  // namespace damaris
