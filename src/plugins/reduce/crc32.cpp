#include "crc32.hpp"

#include <libdeflate.h>
#include <zlib.h>

namespace damaris::reduce {

std::uint32_t crc32(const void* data, std::size_t size_bytes, std::uint32_t before) noexcept {
  return size_bytes == 0 ? before : libdeflate_crc32(before, data, size_bytes);
}

// zlib's length is a signed one; a part of 2^62 bytes does not come.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) noexcept {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace damaris::reduce
