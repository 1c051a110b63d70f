// CRC-32 (of zlib, gzip and PNG) of blocks, values and files.
// Used by: clients at hand-over, any thread; the server's work thread and its workers; `damaris verify`.
// Before it: bytes of a block or a file. After it: the block's header, the manifest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::codec {

// The CRC-32 of no bytes is 0; `before` continues a CRC-32. Threads: any; pure.
std::uint32_t crc32(const void* data, std::size_t size_bytes, std::uint32_t before = 0) noexcept;

// The CRC-32 of two adjacent parts, from the CRC-32 of each.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) noexcept;

}  // namespace damaris::codec
