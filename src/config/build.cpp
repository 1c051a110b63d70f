#include "config/build.hpp"

#include "config/config.hpp"
#include "config/schema.hpp"
#include "config/xml_reader.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

Element read_valid(const std::string& text, const Schema& schema, Problems& problems) {
  Document document = read_xml(text, schema, problems);
  if (!document.schema_errors.empty()) explain(document, schema, problems);
  problems.throw_if_any();
  return std::move(document.root);
}

model::Model read(const std::string& text, const std::string& path, const Schema& schema) {
  Problems problems(path);
  const Element root = read_valid(text, schema, problems);
  model::Model model;
  model.file = path;
  Build build = start_build(root, model, problems);
  build_architecture(build);
  build_log(build);
  build_parameters(build);
  build_types(build);
  build_layouts(build);
  build_variables(build);
  build_storage(build);
  build_actions(build);
  check_log_file(build);
  problems.throw_if_any();
  check_model(build);
  problems.throw_if_any();
  return model;
}

}  // namespace

bool DeclaredNames::add(Build& build, const std::string& kind, const std::string& name, Location where, int index) {
  const auto [entry, fresh] = entries_.emplace(name, Entry{where, index});
  if (!fresh)
    build.problems.add(where, format("{} '{}' is declared twice, first at line {}", kind, name, entry->second.where.line));
  return fresh;
}

int DeclaredNames::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? -1 : found->second.index;
}

std::vector<std::string> DeclaredNames::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::vector<const Element*> Build::all(const std::string& name) const {
  std::vector<const Element*> found;
  for (const Element* element : flat)
    if (element->name == name) found.push_back(element);
  return found;
}

const Element* Build::only(const std::string& name) const {
  const Element* first = nullptr;
  for (const Element* element : flat) {
    if (element->name != name) continue;
    if (first == nullptr)
      first = element;
    else
      problems.add(element->where, format("a second <{}>; only one is allowed, the first is at line {}", name, first->where.line));
  }
  return first;
}

Build start_build(const Element& root, model::Model& model, Problems& problems) {
  Build build{root, model, problems, {}};
  for (const Element& child : root.children) {
    if (child.name != "data" && child.name != "actions")
      build.flat.push_back(&child);
    else
      for (const Element& grandchild : child.children) build.flat.push_back(&grandchild);
  }
  return build;
}

model::Model parse(const std::string& text, const std::string& path) try { return read(text, path, Schema()); } catch (...) {
  throw_without_xerces(path);
}

model::Model parse(const std::string& text, const std::string& path, const Schema& schema) try {
  return read(text, path, schema);
} catch (...) {
  throw_without_xerces(path);
}

}  // namespace damaris::config
