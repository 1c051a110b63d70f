// Looks up the names of a model.
// Used by: the configuration, and make_region for the table of the variables; each client, for what its frame has.
// Before it: a model, or its frame. After it: an index into one of its lists.
#pragma once

#include <string_view>

#include "core/model/model.hpp"
#include "core/model/name_table.hpp"

namespace damaris::model {

// Each function returns -1 if the name is unknown.
class FrameNames {
 public:
  explicit FrameNames(const Frame& frame);
  int layout(std::string_view name) const { return layouts_.find(name); }
  int event(std::string_view name) const { return events_.find(name); }
  int parameter(std::string_view name) const { return parameters_.find(name); }

 private:
  NameTable layouts_, events_, parameters_;
};

// Finds variables by full path and, where it is unique, by bare name. A full path takes precedence over an equal bare name.
class VariableNames {
 public:
  explicit VariableNames(const Model& model);
  int find(std::string_view name) const;

 private:
  NameTable table_;
};

}  // namespace damaris::model
