// Apart from checksum.cpp: clients take checksums and join none, so they need no zlib.
#include <zlib.h>

#include "checksum.hpp"

namespace damaris::codec {

// zlib's length is a signed one; a part of 2^62 bytes does not come.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) noexcept {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace damaris::codec
