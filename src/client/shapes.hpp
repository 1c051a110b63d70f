// The variables of one client: what it knows of the model, and their shapes: parameters, explicit shapes and positions that a program sets at
// run time.
// Used by: Client, and through dc_variable the simulation. Look-ups: any thread. All else: one thread at a time, off the hot path.
// Before it: the region; dc_set_parameter, dc_set_shape, dc_set_position. After it: Variable::shape, the block header of the next writes.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/zeroed_array.hpp"
#include "core/model/model.hpp"
#include "core/model/names.hpp"
#include "core/model/variable_table.hpp"
#include "core/shm/block.hpp"

// A variable: its id, its current shape and its position in the global array; modified only by dc_set_* and at the start of a step.
// The C handle is the object itself: a prepared write follows one pointer. Until the variable is first looked up, all bytes are zero.
struct alignas(damaris::shm::kLine) dc_variable_s {
  // Members used by every write, up to the fourth extent, share one cache line: the simulation evicts the caches between two steps.
  std::uint32_t id = 0;
  damaris::shm::Form form;  // of the blocks that are written
  bool always_due = false;  // enabled and due in every step: `enabled` and `schedule` need not be consulted
  // False: shape or position changed since the last check against the global array; any thread may check.
  std::atomic<bool> place_checked{false};
  std::atomic<bool> is_known{false};        // the members are set; stored with release after them, under the mutex of Shapes
  damaris::model::Shape shape;              // C order
  std::int64_t position[DC_MAX_DIMS] = {};  // C order, of the interior
  std::uint64_t element_bytes = 0;
  damaris::model::StepSelection schedule;
  std::uint32_t layout = 0;  // index into Frame::layouts
  dc_type type = DC_ANY;
  int priority = 0;
  damaris::model::OnFull on_full = damaris::model::OnFull::block;
  bool enabled = false;
  bool fortran_order = false;
  bool has_explicit_shape = false;  // set by dc_set_shape: parameters no longer change it
};

namespace damaris::client {

using Variable = ::dc_variable_s;

// What a client knows of the model: the frame, in memory of its own, and the table of the variables, which stays in the region.
struct Declarations {
  std::shared_ptr<const model::Frame> frame;
  model::VariableTable variables;  // its bytes outlive the client

  // Throws Error(DC_E_CONFIG) if the table is damaged.
  static Declarations of(std::shared_ptr<const model::Frame> frame, std::string_view table) {
    const std::size_t layouts = frame->layouts.size();
    return {std::move(frame), {table, layouts}};
  }
  std::string_view path_of(const Variable& variable) const noexcept { return variables.path(variable.id); }
  const model::Layout& layout_of(const Variable& variable) const { return frame->layouts[variable.layout]; }
  // Of all variables, for a hint at the nearest one.
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (std::uint32_t id = 0; id < variables.size(); ++id) all.emplace_back(variables.path(id));
    return all;
  }
};

class Shapes {
 public:
  // Called with the id of a variable when it is first looked up, before the look-up returns.
  using FirstLookUp = std::function<void(std::uint32_t)>;

  // `threads` of the client.
  explicit Shapes(Declarations declared, std::uint32_t threads = 1, FirstLookUp first_look_up = {});

  // Throws Error(DC_E_UNKNOWN_NAME) with the nearest name.
  Variable& find(std::string_view name) {
    const int id = declared_.variables.find(name, next_id_.load(std::memory_order_relaxed));
    if (id < 0) throw_unknown(std::string(name));
    if (guesses_) guess_after(static_cast<std::uint32_t>(id));
    return known(static_cast<std::uint32_t>(id));
  }
  bool owns(const Variable* handle) const noexcept { return handle >= variables_.begin() && handle < variables_.end(); }
  const model::FrameNames& names() const noexcept { return names_; }

  // Takes effect with the next apply_parameters(). Throws DC_E_UNKNOWN_NAME, or DC_E_ARGUMENT for a constant.
  void set_parameter(const std::string& name, std::int64_t value);
  std::int64_t parameter(const std::string& name) const;
  bool parameters_changed() const noexcept { return changed_; }
  // Resolves every layout again. Throws DC_E_SHAPE, with all shapes unchanged, if the new values are invalid.
  void apply_parameters();
  // Throws if apply_parameters() would throw.
  void require_next();
  // The shape that `variable` will have after apply_parameters(), until the next call; throws if that would throw.
  const model::Shape& next_shape(const Variable& variable) { return changed_ ? changed_shape(variable) : variable.shape; }

  // `name`: a variable or a layout; lists in the layout's dimension order; ndims 0 restores the layout's expressions. On error nothing
  // changes. A layout stands for all of its variables, also those that are looked up later.
  void set_shape(const std::string& name, int ndims, const std::int64_t* extents);
  void set_position(const std::string& name, int ndims, const std::int64_t* offsets);
  // Throws DC_E_SHAPE if the interior at its position is not inside the global array.
  void check_place(Variable& variable) const;
  // The same for `variable` with another shape.
  void require_place(const Variable& variable, const model::Shape& shape) const;

 private:
  using Layouts = std::vector<model::Shape>;
  struct Next {
    Layouts layouts;
    model::Shape explicit_shape;  // what next_shape() has returned last
  };
  // One variable, or with nullptr all of the layout.
  struct Target {
    Variable* variable;
    std::size_t layout;
  };
  Variable& known(std::uint32_t id) {
    Variable& variable = variables_[id];
    if (!variable.is_known.load(std::memory_order_acquire)) make_known(variable, id);
    return variable;
  }
  // Most programs write in the order of the XML.
  void guess_after(std::uint32_t id) noexcept {
    next_id_.store(id + 1, std::memory_order_relaxed);
    declared_.variables.prefetch(id + 2);
  }
  void make_known(Variable& variable, std::uint32_t id);
  // Each layout's and each known variable.
  template <class Do>
  void for_each(Do&& action);
  template <class Do>
  void for_each_of(const Target& target, Do&& action);
  [[noreturn]] void throw_unknown(const std::string& name) const;
  const model::Shape& changed_shape(const Variable& variable);
  Layouts resolve();
  const Layouts& next_layouts();
  void require_offsets(const std::string& name, int ndims, const std::int64_t* offsets) const;
  model::Shape explicit_shape(const Target& target, const std::string& name, int ndims, const std::int64_t* extents) const;
  Target target_of(const std::string& name);
  int parameter_index(const std::string& name) const;
  std::string_view path_of(const Variable& variable) const;
  std::string place_of(const Variable& variable) const;
  void require_ghosts_fit(const Variable& variable, const model::Shape& shape) const;
  void require_dims(const Variable& variable, const std::string& call, int ndims) const;

  const Declarations declared_;
  const model::FrameNames names_;
  const bool guesses_;  // with several threads no line is written by all of them
  std::atomic<std::uint32_t> next_id_;
  ZeroedArray<Variable> variables_;
  const FirstLookUp first_look_up_;
  std::vector<std::int64_t> parameters_;
  bool changed_ = false;

  std::mutex mutex_;                  // of what follows, and of the variables: a thread may look one up while another sets a shape
  Layouts layouts_;                   // for the current parameters
  std::deque<Variable> of_layouts_;   // by layout: what a variable of it is when it is first looked up
  ZeroedArray<std::uint32_t> known_;  // ids of those that have been looked up ...
  std::size_t known_count_ = 0;       // ... of which there are so many: a write by name allocates nothing
  std::optional<Next> next_;          // cached for the current parameters; reset when a parameter or a shape changes
};

}  // namespace damaris::client
