// What `reduce` says: how exact the values of a variable stay and how they are compressed.
// Used by: the builders of variables and storage, one thread, at start-up.
// Before it: a valid attribute. After it: Variable::reduction, which storage plugins read.
#pragma once

#include "config/build.hpp"

namespace damaris::config {

// A problem for each stage that is none; what is left then means nothing.
dc_reduction_t reduction(Build& build, const Attribute& attribute);

// A problem when `variable`, which has this reduction from `attribute`, holds no reals but is to be changed.
void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable);

}  // namespace damaris::config
