#include "client/strided_copy.hpp"

#include <cstring>

namespace damaris::client {
namespace {

struct Copier {
  int ndims;
  const std::int64_t* extents;
  const std::ptrdiff_t* strides;
  std::uint64_t element_bytes;
  std::byte* target;

  void row(const std::byte* source, int dimension) {
    const auto count = static_cast<std::uint64_t>(extents[dimension]);
    if (strides[dimension] == static_cast<std::ptrdiff_t>(element_bytes)) {
      std::memcpy(target, source, count * element_bytes);
    } else {
      for (std::uint64_t i = 0; i < count; ++i)
        std::memcpy(target + i * element_bytes, source + static_cast<std::ptrdiff_t>(i) * strides[dimension], element_bytes);
    }
    target += count * element_bytes;
  }

  void copy(const std::byte* source, int dimension) {
    if (dimension == ndims - 1) return row(source, dimension);
    for (std::int64_t i = 0; i < extents[dimension]; ++i) copy(source + i * strides[dimension], dimension + 1);
  }
};

}  // namespace

void copy_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                  const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes) {
  for (int d = 0; d < ndims; ++d)
    if (extents[d] == 0) return;
  Copier{ndims, extents, strides_bytes, element_bytes, target}.copy(source, 0);
}

}  // namespace damaris::client
