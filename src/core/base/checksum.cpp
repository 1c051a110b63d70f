#include "core/base/checksum.hpp"

#include <libdeflate.h>

namespace damaris {

std::uint32_t checksum(const void* data, std::size_t size_bytes) noexcept {
  return size_bytes == 0 ? 0 : libdeflate_crc32(0, data, size_bytes);
}

}  // namespace damaris
