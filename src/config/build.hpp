// Builds the model from the validated tree, section by section.
// Used by: parse, one thread, at start-up.
// Before it: the tree, validated against the schema. After it: model::Model, semantically checked.
#pragma once

#include <string>
#include <vector>

#include "config/problems.hpp"
#include "config/xml_tree.hpp"
#include "core/model/model.hpp"

namespace damaris::config {

struct Build {
  const Element& root;
  model::Model& model;
  Problems& problems;
  std::vector<const Element*> flat;  // children of root, of <data> and of <actions>, in file order

  std::vector<const Element*> all(const std::string& name) const;
  // The element of that name, or nullptr. Reports a problem for each further one.
  const Element* only(const std::string& name) const;
};

Build start_build(const Element& root, model::Model& model, Problems& problems);

// Each fills its part of the model. Call them in this order: later ones look up names that earlier ones declared.
void build_architecture(Build& build);
void build_log(Build& build);
void build_parameters(Build& build);
void build_types(Build& build);
void build_layouts(Build& build);
void build_variables(Build& build);
void build_storage(Build& build);
// Its stream logs; build_storage calls it.
void build_stream_logs(Build& build, const Element& storage);
void build_actions(Build& build);
// The log must not be the XML or a file of the run. Call it after build_storage.
void check_log_file(Build& build);
// Checks across sections. Call last, and only if no problem was found so far.
void check_model(Build& build);

}  // namespace damaris::config
