// <plugin> elements, which occur among the actions and in the storage.
// Used by: the builders of the model, one thread, at start-up.
// Before it: the element. After it: model::Plugin.
#pragma once

#include "config/build.hpp"

namespace damaris::config {

model::Plugin table_plugin(Build& build, const Element& element);

// `using`, or its older name `library`; nullptr if neither is given. Reports a problem if both are.
const Attribute* library_attribute(Build& build, const Element& element);

}  // namespace damaris::config
