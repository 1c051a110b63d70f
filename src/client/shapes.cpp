#include "client/shapes.hpp"

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/shm/sizes.hpp"

namespace damaris::client {
namespace {

constexpr std::uint32_t kOfLayout = ~std::uint32_t{0};  // the id of what stands for all variables of a layout

std::vector<std::string> names_of(const std::vector<model::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const model::Parameter& parameter : parameters) names.push_back(parameter.name);
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

// Global extents and ghost zones follow the parameters in any case.
model::Shape shape_in(const std::vector<model::Shape>& layouts, const Variable& variable) {
  model::Shape shape = layouts[variable.layout];
  if (!variable.has_explicit_shape) return shape;
  std::copy_n(variable.shape.extents, DC_MAX_DIMS, shape.extents);
  shape.bytes = variable.shape.bytes;
  return shape;
}

}  // namespace

Shapes::Shapes(Declarations declared, std::uint32_t threads, FirstLookUp first_look_up)
    : declared_(std::move(declared)),
      names_(*declared_.frame),
      guesses_(threads == 1),
      next_id_(threads == 1 ? 0 : kOfLayout),
      variables_(declared_.variables.size()),
      first_look_up_(std::move(first_look_up)),
      parameters_(model::initial_parameters(*declared_.frame)),
      known_(declared_.variables.size()) {
  for (const model::Layout& layout : declared_.frame->layouts) {
    Variable& variable = of_layouts_.emplace_back();
    variable.id = kOfLayout;
    variable.layout = static_cast<std::uint32_t>(of_layouts_.size() - 1);
    variable.type = layout.type;
    variable.element_bytes = layout.element_bytes;
    variable.fortran_order = layout.fortran_order;
    variable.form = shm::form_of(layout);
  }
  apply_parameters();
}

// Threads may look the variable up at the same time.
void Shapes::make_known(Variable& variable, std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  if (variable.is_known.load(std::memory_order_relaxed)) return;
  const model::DeclaredVariable declared = declared_.variables.at(id);
  known_[known_count_++] = id;
  const Variable& of_layout = of_layouts_[declared.layout];
  variable.id = id;
  variable.form = of_layout.form;
  variable.always_due = declared.enabled && declared.schedule.always();
  variable.shape = of_layout.shape;
  std::copy_n(of_layout.position, DC_MAX_DIMS, variable.position);
  variable.element_bytes = of_layout.element_bytes;
  variable.schedule = declared.schedule;
  variable.layout = of_layout.layout;
  variable.type = of_layout.type;
  variable.priority = declared.priority;
  variable.on_full = declared.on_full;
  variable.enabled = declared.enabled;
  variable.fortran_order = of_layout.fortran_order;
  variable.has_explicit_shape = of_layout.has_explicit_shape;
  if (first_look_up_) first_look_up_(id);
  variable.is_known.store(true, std::memory_order_release);
}

void Shapes::throw_unknown(const std::string& name) const {
  throw Error(DC_E_UNKNOWN_NAME,
              format("no variable '{}' in {}{}", name, declared_.frame->file, name_hint(name, declared_.paths())));
}

int Shapes::parameter_index(const std::string& name) const {
  const int index = names_.parameter(name);
  if (index < 0)
    throw Error(DC_E_UNKNOWN_NAME, format("no parameter '{}' in {}{}", name, declared_.frame->file,
                                          name_hint(name, names_of(declared_.frame->parameters))));
  return index;
}

void Shapes::set_parameter(const std::string& name, std::int64_t value) {
  const auto index = static_cast<std::size_t>(parameter_index(name));
  const model::Parameter& declared = declared_.frame->parameters[index];
  if (declared.constant)
    throw Error(DC_E_ARGUMENT, format("parameter '{}' is constant, or computed from others, at {}; it cannot be set", name,
                                      model::place(*declared_.frame, declared.where)));
  if (value < model::lowest(declared.type) || value > model::highest(declared.type))
    throw Error(DC_E_ARGUMENT, format("parameter '{}' is {} ({}), which cannot hold {}", name, model::type_name(declared.type),
                                      model::place(*declared_.frame, declared.where), value));
  std::vector<std::int64_t> values = parameters_;
  values[index] = value;
  model::update_parameters(*declared_.frame, values);  // recomputes dependent parameters
  parameters_ = std::move(values);
  changed_ = true;
  const std::lock_guard lock(mutex_);
  next_.reset();
}

std::int64_t Shapes::parameter(const std::string& name) const {
  return parameters_[static_cast<std::size_t>(parameter_index(name))];
}

// The lock is held.
Shapes::Layouts Shapes::resolve() {
  Layouts layouts;
  for (const model::Layout& layout : declared_.frame->layouts)
    layouts.push_back(model::resolve(*declared_.frame, layout, parameters_));
  for_each([&](const Variable& variable) {
    if (variable.has_explicit_shape) require_ghosts_fit(variable, shape_in(layouts, variable));
  });
  return layouts;
}

// The lock is held.
const Shapes::Layouts& Shapes::next_layouts() {
  if (!next_) next_ = Next{resolve(), {}};
  return next_->layouts;
}

void Shapes::require_next() {
  const std::lock_guard lock(mutex_);
  if (changed_) next_layouts();
}

const model::Shape& Shapes::changed_shape(const Variable& variable) {
  const std::lock_guard lock(mutex_);
  const Layouts& layouts = next_layouts();
  if (!variable.has_explicit_shape) return layouts[variable.layout];
  return next_->explicit_shape = shape_in(layouts, variable);
}

void Shapes::apply_parameters() {
  const std::lock_guard lock(mutex_);
  next_layouts();
  layouts_ = std::move(next_->layouts);
  for_each([&](Variable& variable) {
    variable.shape = shape_in(layouts_, variable);
    variable.place_checked.store(false, std::memory_order_relaxed);
  });
  next_.reset();
  changed_ = false;
}

// The lock is held.
template <class Do>
void Shapes::for_each(Do&& action) {
  for (Variable& of_layout : of_layouts_) action(of_layout);
  for (std::size_t i = 0; i < known_count_; ++i) action(variables_[known_[i]]);
}

// The lock is held.
template <class Do>
void Shapes::for_each_of(const Target& target, Do&& action) {
  if (target.variable != nullptr) return action(*target.variable);
  for_each([&](Variable& variable) {
    if (variable.layout == target.layout) action(variable);
  });
}

// A name of both is the variable's.
Shapes::Target Shapes::target_of(const std::string& name) {
  if (const int id = declared_.variables.find(name); id >= 0) {
    Variable& variable = known(static_cast<std::uint32_t>(id));
    return {&variable, variable.layout};
  }
  if (const int layout = names_.layout(name); layout >= 0) return {nullptr, static_cast<std::size_t>(layout)};
  std::vector<std::string> names = declared_.paths();
  for (const model::Layout& layout : declared_.frame->layouts) names.push_back(layout.name);
  throw Error(DC_E_UNKNOWN_NAME, format("no variable or layout '{}' in {}{}", name, declared_.frame->file, name_hint(name, names)));
}

// All variables of a layout have the same shape and type, so the first of them stands for it in a message.
std::string_view Shapes::path_of(const Variable& variable) const {
  if (variable.id != kOfLayout) return declared_.path_of(variable);
  for (std::uint32_t id = 0; id < declared_.variables.size(); ++id)
    if (declared_.variables.at(id).layout == variable.layout) return declared_.variables.path(id);
  return declared_.layout_of(variable).name;
}

void Shapes::require_dims(const Variable& variable, const std::string& call, int ndims) const {
  if (ndims != variable.shape.ndims)
    throw Error(DC_E_SHAPE,
                format("{}: '{}' has {} dimensions, the call gives {}", call, path_of(variable), variable.shape.ndims, ndims));
}

// An empty block has no ghost zones.
void Shapes::require_ghosts_fit(const Variable& variable, const model::Shape& shape) const {
  if (shape.bytes == 0) return;
  for (int d = 0; d < shape.ndims; ++d) {
    if (shape.extents[d] >= shape.ghost_low[d] + shape.ghost_high[d]) continue;
    throw Error(DC_E_SHAPE,
                format("extent {} of '{}' is {}, less than its ghost zones of {} and {} ({})", c_index(variable, d) + 1,
                       path_of(variable), shape.extents[d], shape.ghost_low[d], shape.ghost_high[d], place_of(variable)));
  }
}

std::string Shapes::place_of(const Variable& variable) const {
  const model::Layout& layout = declared_.layout_of(variable);
  return format("layout '{}', {}", layout.name, model::place(*declared_.frame, layout.where));
}

model::Shape Shapes::explicit_shape(const Target& target, const std::string& name, int ndims, const std::int64_t* extents) const {
  const Variable& variable = target.variable != nullptr ? *target.variable : of_layouts_[target.layout];
  model::Shape shape = layouts_[target.layout];
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
  const Target target = target_of(name);
  const std::lock_guard lock(mutex_);
  const model::Shape shape = explicit_shape(target, name, ndims, extents);
  next_.reset();
  for_each_of(target, [&](Variable& variable) {
    variable.shape = shape;
    variable.has_explicit_shape = ndims != 0;
    variable.place_checked.store(false, std::memory_order_relaxed);
  });
}

void Shapes::require_offsets(const std::string& name, int ndims, const std::int64_t* offsets) const {
  for (int d = 0; d < ndims; ++d)
    if (offsets[d] < 0)
      throw Error(DC_E_SHAPE,
                  format("dc_set_position: offset {} of '{}' is {}; positions are zero-based", d + 1, name, offsets[d]));
}

void Shapes::set_position(const std::string& name, int ndims, const std::int64_t* offsets) {
  const Target target = target_of(name);
  const std::lock_guard lock(mutex_);
  require_dims(target.variable != nullptr ? *target.variable : of_layouts_[target.layout], "dc_set_position", ndims);
  require_offsets(name, ndims, offsets);
  for_each_of(target, [&](Variable& variable) {
    for (int d = 0; d < ndims; ++d) variable.position[c_index(variable, d)] = offsets[d];
    variable.form = {variable.form.ndims, variable.form.flags | shm::kHasPosition};
    variable.place_checked.store(false, std::memory_order_relaxed);
  });
}

void Shapes::require_place(const Variable& variable, const model::Shape& shape) const {
  const bool has_position = variable.form.has(shm::kHasPosition), has_global = variable.form.has(shm::kHasGlobal);
  for (int d = 0; d < shape.ndims && has_position; ++d) {
    const std::int64_t interior = shape.interior(d);
    if (variable.position[d] > std::numeric_limits<std::int64_t>::max() - interior)
      throw Error(DC_E_SHAPE,
                  format("'{}' has {} elements at offset {} of dimension {}: its end exceeds the range of 64-bit integers ({})",
                         path_of(variable), interior, variable.position[d], c_index(variable, d) + 1, place_of(variable)));
    if (!has_global) continue;
    if (interior <= shape.global[d] && variable.position[d] <= shape.global[d] - interior) continue;
    throw Error(DC_E_SHAPE, format("'{}' has {} elements at offset {} of dimension {}, beyond the {} of its global array ({})",
                                   path_of(variable), interior, variable.position[d], c_index(variable, d) + 1, shape.global[d],
                                   place_of(variable)));
  }
}

void Shapes::check_place(Variable& variable) const {
  require_place(variable, variable.shape);
  variable.place_checked.store(true, std::memory_order_relaxed);
}

}  // namespace damaris::client
