// <plugin> elements, which stand among the actions and in the storage.
// Used by: the builders of storage and actions; one thread, at start-up.
// Before it: the tree. After it: Model::plugins.
#pragma once

#include "config/build.hpp"

namespace damaris::config {

model::Plugin table_plugin(Build& build, const Element& element);

// `using`, or `library`, its older name; nullptr when neither is given. Both at once are a problem.
const Attribute* library_attribute(Build& build, const Element& element);

}  // namespace damaris::config
