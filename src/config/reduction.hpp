// `reduce`: the precision to which values are stored, and their compression.
// Used by: the builders of the model, one thread, at start-up.
// Before it: the attribute. After it: dc_reduction_t; a problem for each stage that is wrong.
#pragma once

#include "config/build.hpp"

namespace damaris::config {

// Reports a problem for each invalid stage; the result is meaningless then.
dc_reduction_t reduction(Build& build, const Attribute& attribute);

// Reports a problem if `reduction`, which `attribute` gives `variable`, changes values and its type is not a real.
void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable, const dc_reduction_t& reduction);

}  // namespace damaris::config
