#include "client/strided_copy.hpp"

#include <damaris/damaris.h>

#include <cstring>

namespace damaris::client {
namespace {

enum class Direction { gather, scatter };  // gather: from strided to packed

template <Direction direction>
void move(std::byte* packed, std::byte* strided, std::size_t bytes) {
  if constexpr (direction == Direction::gather)
    std::memcpy(packed, strided, bytes);
  else
    std::memcpy(strided, packed, bytes);
}

// The element size is a template argument, so that each copy is a single move instruction.
template <Direction direction, std::size_t Bytes>
void move_elements(std::byte* packed, std::byte* strided, std::int64_t count, std::ptrdiff_t stride) {
  for (std::int64_t i = 0; i < count; ++i)
    move<direction>(packed + static_cast<std::size_t>(i) * Bytes, strided + i * stride, Bytes);
}

template <Direction direction>
struct Copier {
  int ndims = 0;
  std::int64_t extents[DC_MAX_DIMS];
  std::ptrdiff_t strides[DC_MAX_DIMS];
  std::uint64_t element_bytes;
  std::byte* packed;

  // Adds a dimension that is faster than the previous ones; merges it with the previous one if its rows are contiguous.
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

  void row(std::byte* strided, std::int64_t count, std::ptrdiff_t stride) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * element_bytes;
    if (stride == static_cast<std::ptrdiff_t>(element_bytes))
      move<direction>(packed, strided, bytes);
    else if (element_bytes == 4)
      move_elements<direction, 4>(packed, strided, count, stride);
    else if (element_bytes == 8)
      move_elements<direction, 8>(packed, strided, count, stride);
    else
      for (std::int64_t i = 0; i < count; ++i)
        move<direction>(packed + static_cast<std::uint64_t>(i) * element_bytes, strided + i * stride, element_bytes);
    packed += bytes;
  }

  void copy(std::byte* strided, int dimension) {
    if (dimension == ndims - 1) return row(strided, extents[dimension], strides[dimension]);
    for (std::int64_t i = 0; i < extents[dimension]; ++i) copy(strided + i * strides[dimension], dimension + 1);
  }

  void run(std::byte* strided, int dimensions, const std::int64_t* all_extents, const std::ptrdiff_t* strides_bytes) {
    for (int d = 0; d < dimensions; ++d) {
      if (all_extents[d] == 0) return;
      add(all_extents[d], strides_bytes[d]);
    }
    if (ndims == 0)
      row(strided, 1, static_cast<std::ptrdiff_t>(element_bytes));  // one element, whatever its strides
    else
      copy(strided, 0);
  }
};

}  // namespace

// The const_cast is safe: each direction only reads this side.
void copy_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                  const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes) {
  Copier<Direction::gather> copier;
  copier.element_bytes = element_bytes;
  copier.packed = target;
  copier.run(const_cast<std::byte*>(source), ndims, extents, strides_bytes);
}

void scatter_strided(std::byte* target, const std::byte* source, int ndims, const std::int64_t* extents,
                     const std::ptrdiff_t* strides_bytes, std::uint64_t element_bytes) {
  Copier<Direction::scatter> copier;
  copier.element_bytes = element_bytes;
  copier.packed = const_cast<std::byte*>(source);
  copier.run(target, ndims, extents, strides_bytes);
}

}  // namespace damaris::client
