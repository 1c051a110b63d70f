#include "checksum.hpp"

#include <libdeflate.h>

namespace damaris::codec {

std::uint32_t crc32(const void* data, std::size_t size_bytes, std::uint32_t before) noexcept {
  return size_bytes == 0 ? before : libdeflate_crc32(before, data, size_bytes);
}

}  // namespace damaris::codec
