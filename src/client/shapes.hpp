// The shapes of all variables of one client: parameters, explicit shapes and positions that a program sets at run time.
// Used by: Client, by one thread at a time, off the hot path.
// Before it: dc_set_parameter, dc_set_shape, dc_set_position. After it: Variable::shape of the next writes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/variable.hpp"

namespace damaris::client {

class Shapes {
 public:
  explicit Shapes(std::shared_ptr<const model::Model> model);

  // Throws Error(DC_E_UNKNOWN_NAME) with the nearest name.
  Variable& find(std::string_view name);
  bool owns(const Variable* handle) const noexcept {
    return handle >= variables_.data() && handle < variables_.data() + variables_.size();
  }

  // Takes effect with the next apply_parameters(). Throws DC_E_UNKNOWN_NAME, or DC_E_ARGUMENT for a constant.
  void set_parameter(const std::string& name, std::int64_t value);
  std::int64_t parameter(const std::string& name) const;
  bool parameters_changed() const noexcept { return changed_; }
  // Resolves every layout again. Throws DC_E_SHAPE, with all shapes unchanged, if the new values are invalid.
  void apply_parameters();
  // Throws if apply_parameters() would throw.
  void require_next();
  // The shape that `variable` will have after apply_parameters(); throws if that would throw.
  const model::Shape& next_shape(const Variable& variable);

  // `name`: a variable or a layout; lists in the layout's dimension order; ndims 0 restores the layout's expressions. On error nothing
  // changes.
  void set_shape(const std::string& name, int ndims, const std::int64_t* extents);
  void set_position(const std::string& name, int ndims, const std::int64_t* offsets);
  // Throws DC_E_SHAPE if the interior at its position is not inside the global array.
  void check_place(Variable& variable) const;
  // The same for `variable` with another shape.
  void require_place(const Variable& variable, const model::Shape& shape) const;

 private:
  struct Resolved {
    std::vector<model::Shape> layouts, variables;
  };
  [[noreturn]] void throw_unknown(const std::string& name) const;
  Resolved resolve() const;
  void require_offsets(const std::string& name, int ndims, const std::int64_t* offsets) const;
  model::Shape explicit_shape(const Variable& variable, const std::string& name, int ndims, const std::int64_t* extents) const;
  std::vector<Variable*> targets(const std::string& name);
  int parameter_index(const std::string& name) const;
  std::string place_of(const Variable& variable) const;
  void require_ghosts_fit(const Variable& variable, const model::Shape& shape) const;
  void require_dims(const Variable& variable, const std::string& call, int ndims) const;

  std::shared_ptr<const model::Model> model_;
  model::Names names_;
  std::vector<std::int64_t> parameters_;
  std::vector<model::Shape> layouts_;
  std::vector<Variable> variables_;
  bool changed_ = false;
  std::optional<Resolved> next_;  // cached for the current parameters; reset when a parameter or a shape changes
};

}  // namespace damaris::client
