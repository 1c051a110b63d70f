#include "client/source.hpp"

#include <string>
#include <vector>

#include "client/strided_copy.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/shm/copy_choice.hpp"

namespace damaris::client {
namespace {

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

[[noreturn]] void refuse_dims(const Declarations& declared, const Variable& variable, const model::Shape& shape,
                              const Source& source) {
  const std::string flat = source.ndims == 1 && source.extents != nullptr ? format(" of {} elements", source.extents[0]) : "";
  throw Error(DC_E_SHAPE,
              format("'{}' has {} dimensions and {} elements ({}), the array has {}{}", declared.path_of(variable), shape.ndims,
                     shape.bytes / variable.element_bytes, layout_text(declared, variable), source.ndims, flat));
}

[[noreturn]] void refuse_extents(const Declarations& declared, const Variable& variable, const model::Shape& shape,
                                 const Source& source, std::int64_t step) {
  std::vector<std::int64_t> expected;
  for (int d = 0; d < shape.ndims; ++d) expected.push_back(shape.extents[c_place(variable, d)]);
  const std::vector<std::int64_t> given(source.extents, source.extents + source.ndims);
  throw Error(DC_E_SHAPE,
              format("'{}' is ({}) in step {} ({}), the array is ({}); set the parameters or dc_set_shape first",
                     declared.path_of(variable), join(expected, ","), step, layout_text(declared, variable), join(given, ",")));
}

}  // namespace

void refuse_type(const Declarations& declared, const Variable& variable, dc_type given) {
  throw Error(DC_E_TYPE, format("'{}' holds {} ({}), the array holds {}", declared.path_of(variable),
                                model::type_name(variable.type), layout_text(declared, variable), model::type_name(given)));
}

void check_source(const Declarations& declared, const Variable& variable, const model::Shape& shape, const Source& source,
                  std::int64_t step) {
  if (source.type != DC_ANY && source.type != variable.type) refuse_type(declared, variable, source.type);
  if (source.data == nullptr && shape.bytes > 0)
    throw Error(DC_E_ARGUMENT, format("argument `data` for '{}' is NULL", declared.path_of(variable)));
  if (source.extents == nullptr && source.strides_bytes == nullptr) return;
  if (is_flat(variable, shape, source)) return;
  if (source.ndims != shape.ndims) refuse_dims(declared, variable, shape, source);
  if (source.extents != nullptr && !has_extents(variable, shape, source.extents))
    refuse_extents(declared, variable, shape, source, step);
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
