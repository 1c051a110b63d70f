// A model made by hand with one of everything, for the tests of this folder.
// Used by: tests, one thread.
// Before it: nothing. After it: to_json, resolve, Names.
#pragma once

#include "core/model/model.hpp"

namespace damaris::test {

inline model::Parameter parameter(const std::string& name, const std::string& expression, std::int64_t value) {
  model::Parameter p;
  p.name = name;
  p.expression = model::Expression::parse(expression);
  p.value = value;
  p.constant = !p.expression.names().empty();
  p.where = {3, 5};
  return p;
}

inline std::vector<model::Expression> expressions(const std::vector<std::string>& texts) {
  std::vector<model::Expression> list;
  for (const std::string& text : texts) list.push_back(model::Expression::parse(text));
  return list;
}

inline model::Layout layout(const std::string& name, const std::vector<std::string>& dimensions) {
  model::Layout l;
  l.name = name;
  l.dimensions = expressions(dimensions);
  l.where = {7, 9};
  return l;
}

inline model::Variable variable(std::uint32_t id, const std::string& group, const std::string& name, std::size_t layout) {
  model::Variable v;
  v.id = id;
  v.name = name;
  v.path = group + name;
  v.layout = layout;
  v.where = {11, 3};
  return v;
}

// Parameters ni=8, nj=4, n2=2*ni; layouts "tile" (ni+2,nj; Fortran, ghost 1 in x, global 16,8), "list" (n2), "particle" (compound).
inline model::Model example_model() {
  model::Model m;
  m.simulation = "storm";
  m.file = "storm.xml";
  m.parameters = {parameter("ni", "8", 8), parameter("nj", "4", 4), parameter("n2", "2*ni", 16)};
  m.compounds = {{"body", {{"x", DC_FLOAT64, 3, 0}, {"id", DC_INT32, 1, 24}}, 32}};
  m.layouts = {layout("tile", {"ni+2", "nj"}), layout("list", {"n2"}), layout("particle", {"1"})};
  m.layouts[0].fortran_order = true;
  m.layouts[0].global = expressions({"16", "8"});
  m.layouts[0].ghost = {{model::Expression::constant(1), model::Expression::constant(1)},
                        {model::Expression::constant(0), model::Expression::constant(0)}};
  m.layouts[2].type = DC_COMPOUND;
  m.layouts[2].compound = 0;
  m.layouts[2].element_bytes = 32;
  m.variables = {variable(0, "air/", "t", 0), variable(1, "sea/", "t", 0), variable(2, "sea/", "salt", 1),
                 variable(3, "", "body", 2)};
  m.variables[0].unit = "K";
  m.variables[0].description = "temperature, \"dry\" \xc2\xb5";
  m.variables[0].coordinates = {1, 2};
  m.variables[2].enabled = false;
  m.variables[3].store = false;
  model::Action action{"do_it", "my.so", -1, DC_SCOPE_CORE, true, {20, 4}};
  m.events = {{0, "snapshot", {action}, {20, 4}}, {1, "quiet", {}, {21, 4}}};
  m.plugins = {{"hdf5", "damaris_hdf5.so", true, {{"basename", "out/storm"}}, {30, 2}}};
  m.architecture.weights = {3, 1};
  m.architecture.stale = model::StalePolicy::discard;
  m.log = {"info", "storm.log"};
  return m;
}

}  // namespace damaris::test
