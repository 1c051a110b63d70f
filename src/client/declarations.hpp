// What a client knows of the model: the frame, in memory of its own, and the table of the variables, which stays in the region.
// Used by: client threads, on the path of a write by name, at the first look-up of a variable, and for the names in messages.
// Before it: the region. After it: Shapes, and the sentences of errors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/variable.hpp"
#include "core/model/variable_table.hpp"

namespace damaris::client {

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

}  // namespace damaris::client
