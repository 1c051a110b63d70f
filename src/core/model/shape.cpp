#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/model/model.hpp"

namespace damaris::model {
namespace {

// The expressions of one layout with the current parameter values, and the messages for their errors.
class Resolver {
 public:
  Resolver(const Frame& frame, const Layout& layout, const std::vector<std::int64_t>& parameters)
      : frame_(frame), layout_(layout), parameters_(parameters) {}

  std::int64_t value(const Expression& expression, const char* what) const {
    const auto value_of = [this](const std::string& name) { return parameter(name); };
    std::int64_t result = 0;
    try {
      result = expression.evaluate(value_of);
    } catch (const ExpressionError& wrong) {
      throw fail(expression, what, std::string(": ") + wrong.what());
    }
    if (result < 0) throw fail(expression, what, format(" is {}; it must be 0 or more", result));
    return result;
  }

  Error fail(const Expression& expression, const char* what, const std::string& why) const {
    std::string values;
    for (const std::string& name : expression.names())
      values += format("{} {}={}", values.empty() ? " with" : ",", name, parameter(name));
    return Error(DC_E_SHAPE, format("{}: layout '{}': {} '{}'{}{}", place(frame_, layout_.where), layout_.name, what,
                                    expression.text(), values, why));
  }

 private:
  std::int64_t parameter(const std::string& name) const {
    for (std::size_t i = 0; i < frame_.parameters.size(); ++i)
      if (frame_.parameters[i].name == name) return parameters_.at(i);
    throw Error(DC_E_INTERNAL, format("layout '{}' uses '{}', which the model lacks", layout_.name, name));
  }

  const Frame& frame_;
  const Layout& layout_;
  const std::vector<std::int64_t>& parameters_;
};

void resolve_ghost(const Resolver& resolver, const GhostWidth& ghost, const Expression& dimension, Shape& shape, int to) {
  shape.ghost_low[to] = resolver.value(ghost.low, "ghost width");
  shape.ghost_high[to] = resolver.value(ghost.high, "ghost width");
  std::int64_t both = 0;
  const bool overflow = __builtin_add_overflow(shape.ghost_low[to], shape.ghost_high[to], &both);
  if (overflow || (both > shape.extents[to] && shape.bytes != 0))
    throw resolver.fail(
        dimension, "dimension",
        format(" is {}, less than its ghost zones of {} and {}", shape.extents[to], shape.ghost_low[to], shape.ghost_high[to]));
}

std::uint64_t bytes_of(const Frame& frame, const Layout& layout, const Shape& shape) {
  std::int64_t bytes = static_cast<std::int64_t>(layout.element_bytes);
  bool overflow = false;
  for (int d = 0; d < shape.ndims; ++d) overflow = __builtin_mul_overflow(bytes, shape.extents[d], &bytes) || overflow;
  if (overflow)
    throw Error(DC_E_SHAPE, format("{}: layout '{}' has more than 2^63 bytes", place(frame, layout.where), layout.name));
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

Shape resolve(const Frame& frame, const Layout& layout, const std::vector<std::int64_t>& parameters) {
  const Resolver resolver(frame, layout, parameters);
  Shape shape;
  shape.ndims = static_cast<int>(layout.dimensions.size());
  for (int d = 0; d < shape.ndims; ++d) {
    const int to = layout.fortran_order ? shape.ndims - 1 - d : d;
    const auto from = static_cast<std::size_t>(d);
    shape.extents[to] = resolver.value(layout.dimensions[from], "dimension");
    if (!layout.global.empty()) shape.global[to] = resolver.value(layout.global[from], "global extent");
  }
  shape.bytes = bytes_of(frame, layout, shape);
  for (int d = 0; d < shape.ndims && !layout.ghost.empty(); ++d) {
    const int to = layout.fortran_order ? shape.ndims - 1 - d : d;
    const auto from = static_cast<std::size_t>(d);
    resolve_ghost(resolver, layout.ghost[from], layout.dimensions[from], shape, to);
  }
  return shape;
}

}  // namespace damaris::model
