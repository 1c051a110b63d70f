#include "core/model/model.hpp"

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace damaris::model {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::int64_t computed(const Frame& frame, const Parameter& parameter, const std::vector<std::int64_t>& values) {
  const auto value_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (frame.parameters[i].name == name) return values[i];
    throw ExpressionError(0, format("parameter '{}' is not known", name));
  };
  const auto fail = [&](const std::string& why) -> Error {
    return Error(DC_E_ARGUMENT, format("{}: parameter '{}' = '{}': {}", place(frame, parameter.where), parameter.name,
                                       parameter.expression.text(), why));
  };
  try {
    const std::int64_t value = parameter.expression.evaluate(value_of);
    if (value < lowest(parameter.type) || value > highest(parameter.type))
      throw fail(format("{} is outside the range of {}", value, type_name(parameter.type)));
    return value;
  } catch (const ExpressionError& wrong) {
    throw fail(wrong.what());
  }
}

// Both empty: MPI is not required.
struct NeedOfMpi {
  std::string reason, instead;
};

NeedOfMpi need_of_mpi(const Model& model) {
  for (const Event& event : model.events)
    for (const Action& action : event.actions)
      if (action.scope == DC_SCOPE_GLOBAL)
        return {format("{}: event '{}' has scope=\"global\", for which the servers agree over MPI", place(model, action.where),
                       event.name),
                "scope=\"node\""};
  for (const Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings) {
      if (!plugin.storage) continue;
      if (key == "files" && value != "per-server")
        return {format("{}: files=\"{}\" writes one file from several servers, with parallel HDF5 over MPI",
                       place(model, plugin.where), value),
                "files=\"per-server\""};
      if (key == "schedule" && value == "coordinated")
        return {format("{}: schedule=\"coordinated\" lets the servers take turns, which they agree on over MPI",
                       place(model, plugin.where)),
                "schedule=\"slots\""};
    }
  return {};
}

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

std::vector<std::int64_t> initial_parameters(const Frame& frame) {
  std::vector<std::int64_t> values;
  for (const Parameter& parameter : frame.parameters) values.push_back(parameter.value);
  return values;
}

void update_parameters(const Frame& frame, std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> next = values;
  for (std::size_t i = 0; i < frame.parameters.size(); ++i)
    if (!frame.parameters[i].expression.names().empty()) next[i] = computed(frame, frame.parameters[i], next);
  values.swap(next);
}

std::uint64_t step_bytes(const Model& model, const std::vector<std::int64_t>& parameters) {
  std::uint64_t sum = 0;
  for (const Variable& variable : model.variables) {
    if (!variable.enabled) continue;
    if (__builtin_add_overflow(sum, resolve(model, model.layouts[variable.layout], parameters).bytes, &sum))
      throw Error(DC_E_SHAPE, format("{}: all variables together have more than 2^64 bytes", place(model, variable.where)));
  }
  return sum;
}

bool calls_mpi(const Plugin& plugin) {
  for (const auto& [key, value] : plugin.settings)
    if (plugin.storage && key == "files" && value != "per-server") return true;
  return false;
}

std::string mpi_reason(const Model& model) { return need_of_mpi(model).reason; }

std::string refusal_without_mpi(const Model& model) {
  const NeedOfMpi need = need_of_mpi(model);
  return format("{}; start with dc_mpi_initialize, or say {}", need.reason, need.instead);
}

std::string background_log_file(const Model& model) {
  for (const Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings)
      if (plugin.storage && key == "basename") return value + ".log";
  std::string name = model.simulation + ".log";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::uint32_t first_file(const Frame& frame, std::size_t log) {
  std::uint32_t first = 0;
  for (std::size_t before = 0; before < log; ++before) first += static_cast<std::uint32_t>(frame.logs[before].files);
  return first;
}

std::string logs_basename(const Model& model) {
  for (const Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings)
      if (plugin.storage && key == "basename") return value;
  return model.simulation;
}

std::string place(const Frame& frame, Location where) {
  return where.line == 0 ? frame.file : format("{}:{}:{}", frame.file, where.line, where.column);
}

std::uint64_t type_bytes(dc_type type) {
  switch (type) {
    case DC_INT8:
    case DC_UINT8:
    case DC_CHAR:
      return 1;
    case DC_INT16:
    case DC_UINT16:
      return 2;
    case DC_INT32:
    case DC_UINT32:
    case DC_FLOAT32:
      return 4;
    case DC_INT64:
    case DC_UINT64:
    case DC_FLOAT64:
      return 8;
    case DC_ANY:
    case DC_COMPOUND:
      break;
  }
  return 0;
}

const char* type_name(dc_type type) {
  switch (type) {
    case DC_ANY:
      return "any";
    case DC_INT8:
      return "int8";
    case DC_INT16:
      return "int16";
    case DC_INT32:
      return "int32";
    case DC_INT64:
      return "int64";
    case DC_UINT8:
      return "uint8";
    case DC_UINT16:
      return "uint16";
    case DC_UINT32:
      return "uint32";
    case DC_UINT64:
      return "uint64";
    case DC_FLOAT32:
      return "real32";
    case DC_FLOAT64:
      return "real64";
    case DC_CHAR:
      return "char";
    case DC_COMPOUND:
      return "compound";
  }
  return "unknown type";
}

std::string type_text(dc_type type) {
  if (type == DC_FLOAT32) return "real32 (real, float)";
  if (type == DC_FLOAT64) return "real64 (double)";
  return type_name(type);
}

std::int64_t lowest(dc_type type) {
  switch (type) {
    case DC_INT8:
      return std::numeric_limits<std::int8_t>::min();
    case DC_INT16:
      return std::numeric_limits<std::int16_t>::min();
    case DC_INT32:
      return std::numeric_limits<std::int32_t>::min();
    case DC_INT64:
      return kLowest;
    default:
      return 0;
  }
}

std::int64_t highest(dc_type type) {
  switch (type) {
    case DC_INT8:
      return std::numeric_limits<std::int8_t>::max();
    case DC_INT16:
      return std::numeric_limits<std::int16_t>::max();
    case DC_INT32:
      return std::numeric_limits<std::int32_t>::max();
    case DC_UINT8:
      return std::numeric_limits<std::uint8_t>::max();
    case DC_UINT16:
      return std::numeric_limits<std::uint16_t>::max();
    case DC_UINT32:
      return std::numeric_limits<std::uint32_t>::max();
    default:
      return kHighest;
  }
}

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
