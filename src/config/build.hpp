// Builds the model from the validated tree, section by section.
// Used by: parse and the builders, one thread, at start-up.
// Before it: the tree, validated against the schema. After it: model::Model, semantically checked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/xml_reader.hpp"
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

// The declared names of one kind: looks them up and rejects duplicates.
class DeclaredNames {
 public:
  // Returns false and reports a problem if `name` is already declared.
  bool add(Build& build, const std::string& kind, const std::string& name, Location where, int index);
  int find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  struct Entry {
    Location where;
    int index;
  };
  std::map<std::string, Entry> entries_;
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
void build_actions(Build& build);
// The log must not be the XML or a file of the run. Call it after build_storage.
void check_log_file(Build& build);
// Checks across sections. Call last, and only if no problem was found so far.
void check_model(Build& build);

}  // namespace damaris::config
