#include "client/source.hpp"

#include <damaris/damaris.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/shm/copy_choice.hpp"

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

// The index in C order of the layout's dimension `d`.
int c_place(const Variable& variable, int d) { return variable.fortran_order ? variable.shape.ndims - 1 - d : d; }

bool has_extents(const Variable& variable, const model::Shape& shape, const std::int64_t* extents) {
  for (int d = 0; d < shape.ndims; ++d)
    if (extents[d] != shape.extents[c_place(variable, d)]) return false;
  return true;
}

// A contiguous one-dimensional array of all elements matches a layout with any number of dimensions.
bool is_flat(const Variable& variable, const model::Shape& shape, const Source& source) {
  return source.ndims == 1 && source.strides_bytes == nullptr && source.extents != nullptr && source.extents[0] >= 0 &&
         static_cast<std::uint64_t>(source.extents[0]) == shape.bytes / variable.element_bytes;
}

std::string layout_text(const Declarations& declared, const Variable& variable) {
  const model::Layout& layout = declared.layout_of(variable);
  return format("layout '{}', {}:{}", layout.name, declared.frame->file, layout.where.line);
}

[[noreturn]] void throw_wrong_dims(const Declarations& declared, const Variable& variable, const model::Shape& shape,
                                   const Source& source) {
  const std::string flat = source.ndims == 1 && source.extents != nullptr ? format(" of {} elements", source.extents[0]) : "";
  throw Error(DC_E_SHAPE,
              format("'{}' has {} dimensions and {} elements ({}), the array has {}{}", declared.path_of(variable), shape.ndims,
                     shape.bytes / variable.element_bytes, layout_text(declared, variable), source.ndims, flat));
}

[[noreturn]] void throw_wrong_extents(const Declarations& declared, const Variable& variable, const model::Shape& shape,
                                      const Source& source, std::int64_t step) {
  std::vector<std::int64_t> expected;
  for (int d = 0; d < shape.ndims; ++d) expected.push_back(shape.extents[c_place(variable, d)]);
  const std::vector<std::int64_t> given(source.extents, source.extents + source.ndims);
  throw Error(DC_E_SHAPE,
              format("'{}' is ({}) in step {} ({}), the array is ({}); set the parameters or dc_set_shape first",
                     declared.path_of(variable), join(expected, ","), step, layout_text(declared, variable), join(given, ",")));
}

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

void throw_wrong_type(const Declarations& declared, const Variable& variable, dc_type given) {
  throw Error(DC_E_TYPE, format("'{}' holds {} ({}), the array holds {}", declared.path_of(variable),
                                model::type_name(variable.type), layout_text(declared, variable), model::type_name(given)));
}

void check_source(const Declarations& declared, const Variable& variable, const model::Shape& shape, const Source& source,
                  std::int64_t step) {
  if (source.type != DC_ANY && source.type != variable.type) throw_wrong_type(declared, variable, source.type);
  if (source.data == nullptr && shape.bytes > 0)
    throw Error(DC_E_ARGUMENT, format("argument `data` for '{}' is NULL", declared.path_of(variable)));
  if (source.extents == nullptr && source.strides_bytes == nullptr) return;
  if (is_flat(variable, shape, source)) return;
  if (source.ndims != shape.ndims) throw_wrong_dims(declared, variable, shape, source);
  if (source.extents != nullptr && !has_extents(variable, shape, source.extents))
    throw_wrong_extents(declared, variable, shape, source, step);
}

void copy_source(std::byte* target, const Variable& variable, const Source& source) {
  const model::Shape& shape = variable.shape;
  if (shape.bytes == 0) return;
  if (source.strides_bytes == nullptr) {
    shm::copy_in(target, source.data, shape.bytes);
    return;
  }
  std::ptrdiff_t strides[DC_MAX_DIMS];
  for (int d = 0; d < shape.ndims; ++d) strides[c_place(variable, d)] = source.strides_bytes[d];
  copy_strided(target, static_cast<const std::byte*>(source.data), shape.ndims, shape.extents, strides, variable.element_bytes);
}

void place_part(const std::byte* values, const Variable& variable, const Box& part, const Target& target) {
  const model::Shape& shape = variable.shape;
  if (shape.bytes == 0) return;
  std::ptrdiff_t strides[DC_MAX_DIMS];
  auto next = static_cast<std::ptrdiff_t>(variable.element_bytes);
  for (int d = shape.ndims - 1; d >= 0; --d) {
    strides[d] = next;
    next *= shape.extents[d];
  }
  for (int d = 0; d < shape.ndims && target.strides_bytes != nullptr; ++d) strides[c_place(variable, d)] = target.strides_bytes[d];
  std::int64_t extents[DC_MAX_DIMS];
  std::ptrdiff_t first = 0;
  for (int d = 0; d < shape.ndims; ++d) {
    extents[d] = part.extent(d);
    first += (shape.ghost_low[d] + part.low[d]) * strides[d];
  }
  scatter_strided(static_cast<std::byte*>(target.data) + first, values, shape.ndims, extents, strides, variable.element_bytes);
}

}  // namespace damaris::client
