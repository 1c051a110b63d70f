// Separate from checksum.cpp so that clients, which only compute checksums, need no zlib.
#include <zlib.h>

#include "checksum.hpp"

namespace damaris::codec {

// zlib's length is signed; no part has 2^62 bytes.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) noexcept {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace damaris::codec
