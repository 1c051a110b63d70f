#include "checksum.hpp"

#include <isa-l/crc.h>

namespace damaris::codec {

std::uint32_t crc32(const void* data, std::size_t size_bytes, std::uint32_t before) noexcept {
  return size_bytes == 0 ? before : ::crc32_gzip_refl(before, static_cast<const unsigned char*>(data), size_bytes);
}

}  // namespace damaris::codec
