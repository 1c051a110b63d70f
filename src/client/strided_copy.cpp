#include "client/strided_copy.hpp"

#include <damaris/damaris.h>

#include <cstring>

namespace damaris::client {
namespace {

// Elements of one size, so that the compiler knows how to move one.
template <std::size_t Bytes>
void copy_elements(std::byte* target, const std::byte* source, std::int64_t count, std::ptrdiff_t stride) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(target + static_cast<std::size_t>(i) * Bytes, source + i * stride, Bytes);
}

struct Copier {
  int ndims = 0;
  std::int64_t extents[DC_MAX_DIMS];
  std::ptrdiff_t strides[DC_MAX_DIMS];
  std::uint64_t element_bytes;
  std::byte* target;

  // Adds a dimension faster than those before; one whose rows follow on each other becomes part of the one before.
  void add(std::int64_t extent, std::ptrdiff_t stride) {
    if (extent == 1) return;
    if (ndims > 0 && strides[ndims - 1] == extent * stride) {
      extents[ndims - 1] *= extent;
      strides[ndims - 1] = stride;
      return;
    }
    extents[ndims] = extent;
    strides[ndims++] = stride;
  }

  void row(const std::byte* source, std::int64_t count, std::ptrdiff_t stride) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * element_bytes;
    if (stride == static_cast<std::ptrdiff_t>(element_bytes))
      std::memcpy(target, source, bytes);
    else if (element_bytes == 4)
      copy_elements<4>(target, source, count, stride);
    else if (element_bytes == 8)
      copy_elements<8>(target, source, count, stride);
    else
      for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(target + static_cast<std::uint64_t>(i) * element_bytes, source + i * stride, element_bytes);
    target += bytes;
  }

  void copy(const std::byte* source, int dimension) {
    if (dimension == ndims - 1) return row(source, extents[dimension], strides[dimension]);
    for (std::int64_t i = 0; i < extents[dimension]; ++i) copy(source + i * strides[dimension], dimension + 1);
  }
};

}  // namespace

void copy_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                  const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes) {
  Copier copier;
  copier.element_bytes = element_bytes;
  copier.target = target;
  for (int d = 0; d < ndims; ++d) {
    if (extents[d] == 0) return;
    copier.add(extents[d], strides_bytes[d]);
  }
  if (copier.ndims == 0)
    copier.row(source, 1, static_cast<std::ptrdiff_t>(element_bytes));  // one element, whatever its strides
  else
    copier.copy(source, 0);
}

}  // namespace damaris::client
