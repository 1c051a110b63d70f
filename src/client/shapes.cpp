#include "client/shapes.hpp"

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"
#include "core/shm/form.hpp"

namespace damaris::client {
namespace {

template <class Items, class Name>
std::vector<std::string> all_names(const Items& items, Name&& name) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(name(item));
  return names;
}

// Converts between the layout's dimension order and C order.
int c_index(const Variable& variable, int dimension) {
  return variable.fortran_order ? variable.shape.ndims - 1 - dimension : dimension;
}

std::uint64_t bytes_of(const Variable& variable, const model::Shape& shape) {
  std::uint64_t bytes = variable.element_bytes;
  for (int d = 0; d < shape.ndims; ++d)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape.extents[d]), &bytes) ||
        bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw Error(DC_E_SHAPE, "the extents given to dc_set_shape make more bytes than a 64-bit size can hold");
  return bytes;
}

}  // namespace

Shapes::Shapes(std::shared_ptr<const model::Model> model)
    : model_(std::move(model)),
      names_(*model_),
      parameters_(model::initial_parameters(*model_)),
      variables_(model_->variables.size()) {
  for (const model::Variable& declared : model_->variables) {
    const model::Layout& layout = model_->layouts[declared.layout];
    Variable& variable = variables_[declared.id];
    variable.id = declared.id;
    variable.always_due = declared.enabled && declared.schedule.always();
    variable.type = layout.type;
    variable.element_bytes = layout.element_bytes;
    variable.fortran_order = layout.fortran_order;
    variable.form = shm::form_of(layout);
  }
  apply_parameters();
}

Variable& Shapes::find(std::string_view name) {
  const int id = names_.variable(name);
  if (id < 0) throw_unknown(std::string(name));
  return variables_[static_cast<std::size_t>(id)];
}

void Shapes::throw_unknown(const std::string& name) const {
  throw Error(DC_E_UNKNOWN_NAME, format("no variable '{}' in {}{}", name, model_->file,
                                        name_hint(name, all_names(model_->variables, [](const auto& v) { return v.path; }))));
}

int Shapes::parameter_index(const std::string& name) const {
  const int index = names_.parameter(name);
  if (index < 0)
    throw Error(DC_E_UNKNOWN_NAME, format("no parameter '{}' in {}{}", name, model_->file,
                                          name_hint(name, all_names(model_->parameters, [](const auto& p) { return p.name; }))));
  return index;
}

void Shapes::set_parameter(const std::string& name, std::int64_t value) {
  const auto index = static_cast<std::size_t>(parameter_index(name));
  const model::Parameter& declared = model_->parameters[index];
  if (declared.constant)
    throw Error(DC_E_ARGUMENT, format("parameter '{}' is constant, or computed from others, at {}; it cannot be set", name,
                                      model::place(*model_, declared.where)));
  if (value < model::lowest(declared.type) || value > model::highest(declared.type))
    throw Error(DC_E_ARGUMENT, format("parameter '{}' is {} ({}), which cannot hold {}", name, model::type_name(declared.type),
                                      model::place(*model_, declared.where), value));
  std::vector<std::int64_t> values = parameters_;
  values[index] = value;
  model::update_parameters(*model_, values);  // recomputes dependent parameters
  parameters_ = std::move(values);
  changed_ = true;
  next_.reset();
}

std::int64_t Shapes::parameter(const std::string& name) const {
  return parameters_[static_cast<std::size_t>(parameter_index(name))];
}

Shapes::Resolved Shapes::resolve() const {
  Resolved resolved;
  for (const model::Layout& layout : model_->layouts) resolved.layouts.push_back(model::resolve(*model_, layout, parameters_));
  for (const Variable& variable : variables_) {
    model::Shape& shape = resolved.variables.emplace_back(resolved.layouts[model_->variables[variable.id].layout]);
    if (!variable.has_explicit_shape) continue;  // the global extents still follow the parameters
    std::copy_n(variable.shape.extents, DC_MAX_DIMS, shape.extents);
    shape.bytes = variable.shape.bytes;
    require_ghosts_fit(variable, shape);
  }
  return resolved;
}

void Shapes::require_next() {
  if (changed_ && !next_) next_ = resolve();
}

const model::Shape& Shapes::next_shape(const Variable& variable) {
  if (!changed_) return variable.shape;
  require_next();
  return next_->variables[variable.id];
}

void Shapes::apply_parameters() {
  if (!next_) next_ = resolve();
  layouts_ = std::move(next_->layouts);
  for (Variable& variable : variables_) {
    variable.shape = next_->variables[variable.id];
    variable.place_checked.store(false, std::memory_order_relaxed);
  }
  next_.reset();
  changed_ = false;
}

std::vector<Variable*> Shapes::targets(const std::string& name) {
  std::vector<Variable*> found;
  if (const int id = names_.variable(name); id >= 0) {
    found.push_back(&variables_[static_cast<std::size_t>(id)]);
  } else if (const int layout = names_.layout(name); layout >= 0) {
    for (Variable& variable : variables_)
      if (model_->variables[variable.id].layout == static_cast<std::size_t>(layout)) found.push_back(&variable);
  } else {
    std::vector<std::string> known = all_names(model_->variables, [](const auto& v) { return v.path; });
    for (const model::Layout& l : model_->layouts) known.push_back(l.name);
    throw Error(DC_E_UNKNOWN_NAME, format("no variable or layout '{}' in {}{}", name, model_->file, name_hint(name, known)));
  }
  return found;
}

void Shapes::require_dims(const Variable& variable, const std::string& call, int ndims) const {
  if (ndims != variable.shape.ndims)
    throw Error(DC_E_SHAPE, format("{}: '{}' has {} dimensions, the call gives {}", call, model_->variables[variable.id].path,
                                   variable.shape.ndims, ndims));
}

// An empty block has no ghost zones.
void Shapes::require_ghosts_fit(const Variable& variable, const model::Shape& shape) const {
  if (shape.bytes == 0) return;
  for (int d = 0; d < shape.ndims; ++d) {
    if (shape.extents[d] >= shape.ghost_low[d] + shape.ghost_high[d]) continue;
    throw Error(DC_E_SHAPE, format("extent {} of '{}' is {}, less than its ghost zones of {} and {} ({})", c_index(variable, d) + 1,
                                   model_->variables[variable.id].path, shape.extents[d], shape.ghost_low[d], shape.ghost_high[d],
                                   place_of(variable)));
  }
}

std::string Shapes::place_of(const Variable& variable) const {
  const model::Layout& layout = model_->layouts[model_->variables[variable.id].layout];
  return format("layout '{}', {}", layout.name, model::place(*model_, layout.where));
}

model::Shape Shapes::explicit_shape(const Variable& variable, const std::string& name, int ndims,
                                    const std::int64_t* extents) const {
  model::Shape shape = layouts_[model_->variables[variable.id].layout];
  if (ndims == 0) return shape;
  require_dims(variable, "dc_set_shape", ndims);
  for (int d = 0; d < ndims; ++d) {
    if (extents[d] < 0)
      throw Error(DC_E_SHAPE, format("dc_set_shape: extent {} of '{}' is {}; it must be 0 or more", d + 1, name, extents[d]));
    shape.extents[c_index(variable, d)] = extents[d];
  }
  shape.bytes = bytes_of(variable, shape);
  require_ghosts_fit(variable, shape);
  return shape;
}

void Shapes::set_shape(const std::string& name, int ndims, const std::int64_t* extents) {
  const std::vector<Variable*> found = targets(name);
  std::vector<model::Shape> shapes;
  for (const Variable* variable : found) shapes.push_back(explicit_shape(*variable, name, ndims, extents));
  next_.reset();
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i]->shape = shapes[i];
    found[i]->has_explicit_shape = ndims != 0;
    found[i]->place_checked.store(false, std::memory_order_relaxed);
  }
}

void Shapes::require_offsets(const std::string& name, int ndims, const std::int64_t* offsets) const {
  for (int d = 0; d < ndims; ++d)
    if (offsets[d] < 0)
      throw Error(DC_E_SHAPE,
                  format("dc_set_position: offset {} of '{}' is {}; positions are zero-based", d + 1, name, offsets[d]));
}

void Shapes::set_position(const std::string& name, int ndims, const std::int64_t* offsets) {
  const std::vector<Variable*> found = targets(name);
  for (const Variable* variable : found) require_dims(*variable, "dc_set_position", ndims);
  require_offsets(name, ndims, offsets);
  for (Variable* variable : found) {
    for (int d = 0; d < ndims; ++d) variable->position[c_index(*variable, d)] = offsets[d];
    variable->form = {variable->form.ndims, variable->form.flags | shm::kHasPosition};
    variable->place_checked.store(false, std::memory_order_relaxed);
  }
}

void Shapes::require_place(const Variable& variable, const model::Shape& shape) const {
  const bool has_position = variable.form.has(shm::kHasPosition), has_global = variable.form.has(shm::kHasGlobal);
  for (int d = 0; d < shape.ndims && has_position; ++d) {
    const std::int64_t interior = shape.interior(d);
    if (variable.position[d] > std::numeric_limits<std::int64_t>::max() - interior)
      throw Error(DC_E_SHAPE,
                  format("'{}' has {} elements at offset {} of dimension {}: its end exceeds the range of 64-bit integers ({})",
                         model_->variables[variable.id].path, interior, variable.position[d], c_index(variable, d) + 1,
                         place_of(variable)));
    if (!has_global) continue;
    if (interior <= shape.global[d] && variable.position[d] <= shape.global[d] - interior) continue;
    throw Error(DC_E_SHAPE, format("'{}' has {} elements at offset {} of dimension {}, beyond the {} of its global array ({})",
                                   model_->variables[variable.id].path, interior, variable.position[d], c_index(variable, d) + 1,
                                   shape.global[d], place_of(variable)));
  }
}

void Shapes::check_place(Variable& variable) const {
  require_place(variable, variable.shape);
  variable.place_checked.store(true, std::memory_order_relaxed);
}

}  // namespace damaris::client
