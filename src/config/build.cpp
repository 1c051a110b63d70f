#include "config/build.hpp"

#include "core/base/format.hpp"

namespace damaris::config {

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

}  // namespace damaris::config
