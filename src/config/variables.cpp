#include <algorithm>
#include <set>

#include "config/build.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/model/names.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kMostVariables = 100'000;
constexpr int kDeepestGroup = 32;

// Visits the groups in file order and appends to Model::variables.
class VariableReader {
 public:
  explicit VariableReader(Build& build) : build_(build) {
    for (std::size_t i = 0; i < build.model.layouts.size(); ++i) {
      layouts_.emplace(build.model.layouts[i].name, i);
      layout_names_.push_back(build.model.layouts[i].name);
    }
    for (const Element* mesh : build.all("mesh")) meshes_.push_back(mesh->value("name"));
  }

  // The settings that a variable inherits from its enclosing groups.
  struct Inherited {
    std::string path;
    bool enabled = true, store = true;
    int depth = 0;
    const Attribute* reduce = nullptr;
    model::StepSelection schedule;
    int priority = 0;
    const Attribute* reduce_on_full = nullptr;
    model::OnFull on_full = model::OnFull::block;
  };

  void group(const Element& element, const Inherited& inherited) {
    const std::string path = inherited.path + element.value("name");
    if (inherited.depth == kDeepestGroup)
      return build_.problems.add(element.where, format("groups are nested deeper than {}", kDeepestGroup));
    check_clash(paths_, path, element, "a variable");
    groups_.emplace(path, element.where);
    const Attribute* reduce = element.find("reduce");
    const Attribute* reduce_on_full = element.find("reduce-on-full");
    const Inherited inside{path + "/",
                           inherited.enabled && element.is_true("enabled"),
                           inherited.store && element.is_true("store"),
                           inherited.depth + 1,
                           reduce != nullptr ? reduce : inherited.reduce,
                           schedule(element, inherited.schedule),
                           priority(element, inherited.priority),
                           reduce_on_full != nullptr ? reduce_on_full : inherited.reduce_on_full,
                           on_full(element, inherited.on_full)};
    for (const Element& child : element.children) {
      if (child.name == "group")
        group(child, inside);
      else
        variable(child, inside);
    }
  }

  void variable(const Element& element, const Inherited& inherited) {
    if (build_.problems.many()) return;
    model::Variable v;
    v.name = element.value("name");
    v.path = inherited.path + v.name;
    v.id = static_cast<std::uint32_t>(build_.model.variables.size());
    v.unit = element.value("unit");
    v.description = element.value("description");
    v.mesh = element.value_or_empty("mesh");
    v.enabled = inherited.enabled && element.is_true("enabled");
    v.store = inherited.store && element.is_true("store");
    v.schedule = schedule(element, inherited.schedule);
    v.priority = priority(element, inherited.priority);
    v.on_full = on_full(element, inherited.on_full);
    v.where = element.where;
    v.layout = layout(element, v.path);
    reduce(element, inherited, v);
    reduce_on_full(element, inherited, v);
    v.chunk = chunk(element, v);
    check_mesh(element, v.path);
    check_clash(groups_, v.path, element, "a group");
    const auto [first, fresh] = paths_.emplace(v.path, element.where);
    if (fresh)
      build_.model.variables.push_back(std::move(v));
    else
      build_.problems.add(element.where, format("variable '{}' is declared twice, first at line {}", v.path, first->second.line));
  }

 private:
  std::size_t layout(const Element& element, const std::string& path) {
    const Attribute& attribute = *element.find("layout");
    const auto found = layouts_.find(attribute.value);
    if (found != layouts_.end()) return found->second;
    build_.problems.add(attribute.value_where, format("variable '{}': no layout '{}' is declared{}", path, attribute.value,
                                                      name_hint(attribute.value, layout_names_)));
    return 0;
  }

  // Attributes that the element does not give are inherited.
  model::StepSelection schedule(const Element& element, model::StepSelection schedule) {
    constexpr std::int64_t kHighest = 999'999'999;
    if (const Attribute* every = element.find("every")) schedule.every = number(build_, *every, 1, kHighest);
    if (const Attribute* from = element.find("from")) schedule.from = number(build_, *from, 0, kHighest);
    if (const Attribute* until = element.find("until")) schedule.until = number(build_, *until, 0, kHighest);
    if (schedule.until < schedule.from && element.find("until") != nullptr)
      build_.problems.add(element.find("until")->value_where,
                          format("until=\"{}\" lies before the first step, {}", schedule.until, schedule.from));
    return schedule;
  }

  std::vector<std::int64_t> chunk(const Element& element, const model::Variable& variable) {
    constexpr std::int64_t kMostBytes = 0xffffffff;  // of a chunk, in HDF5
    const Attribute* attribute = element.find("chunk");
    if (attribute == nullptr || build_.model.layouts.empty()) return {};
    const model::Layout& layout = build_.model.layouts[variable.layout];
    const auto wrong = [&](const std::string& why) {
      build_.problems.add(attribute->value_where, format("{}: {}", quoted(*attribute), why));
      return std::vector<std::int64_t>{};
    };
    std::vector<std::int64_t> extents;
    auto bytes = static_cast<std::int64_t>(layout.element_bytes);
    for (const TextPart& piece : split(attribute->value, ',')) {
      const bool digits =
          !piece.text.empty() && piece.text.size() < 10 && piece.text.find_first_not_of("0123456789") == std::string::npos;
      extents.push_back(digits ? std::stoll(piece.text) : 0);
      if (extents.back() < 1)
        return wrong("a chunk has whole numbers of elements in each dimension, 1 or more, for example 64,64,16");
      bytes = std::min(bytes, kMostBytes + 1) * extents.back();
      if (bytes > kMostBytes) return wrong("a chunk of 4 GiB or more cannot be stored; give a smaller one");
    }
    if (extents.size() != layout.dimensions.size())
      return wrong(format("{} extents for the {} dimensions of layout '{}'; give one for each", extents.size(),
                          layout.dimensions.size(), layout.name));
    return extents;
  }

  int priority(const Element& element, int inherited) {
    const Attribute* own = element.find("priority");
    return own == nullptr ? inherited : static_cast<int>(number(build_, *own, 0, 1000));
  }

  void reduce(const Element& element, const Inherited& inherited, model::Variable& variable) {
    const Attribute* own = element.find("reduce");
    const Attribute* attribute = own != nullptr ? own : inherited.reduce;
    if (attribute == nullptr || build_.model.layouts.empty()) return;
    variable.reduce = attribute->value;
    variable.reduction = reduction(build_, *attribute);
    check_reduction(build_, *attribute, variable, variable.reduction);
  }

  void reduce_on_full(const Element& element, const Inherited& inherited, model::Variable& variable) {
    const Attribute* own = element.find("reduce-on-full");
    const Attribute* attribute = own != nullptr ? own : inherited.reduce_on_full;
    if (attribute == nullptr || build_.model.layouts.empty()) return;
    if (!build_.model.architecture.reduces_on_full)
      return build_.problems.add(attribute->where, "reduce-on-full has no effect without <buffer on-full=\"reduce\"/>; add that");
    variable.reduce_on_full = attribute->value;
    variable.reduction_on_full = reduction(build_, *attribute);
    check_reduction(build_, *attribute, variable, variable.reduction_on_full);
  }

  static model::OnFull on_full(const Element& element, model::OnFull inherited) {
    const Attribute* own = element.find("on-full");
    if (own == nullptr) return inherited;
    return own->value == "skip" ? model::OnFull::skip : own->value == "drop" ? model::OnFull::drop : model::OnFull::block;
  }

  void check_mesh(const Element& element, const std::string& path) {
    const Attribute* mesh = element.find("mesh");
    if (mesh == nullptr || std::count(meshes_.begin(), meshes_.end(), mesh->value) != 0) return;
    build_.problems.add(mesh->value_where,
                        format("variable '{}': no mesh '{}' is declared{}", path, mesh->value, name_hint(mesh->value, meshes_)));
  }

  // Both would have the same path in a file.
  void check_clash(const std::map<std::string, Location>& others, const std::string& path, const Element& element,
                   const char* kind) {
    const auto other = others.find(path);
    if (other != others.end())
      build_.problems.add(element.where, format("<{}> '{}' has the path of {}, declared at line {}; rename one of them",
                                                element.name, path, kind, other->second.line));
  }

  Build& build_;
  std::map<std::string, std::size_t> layouts_;
  std::vector<std::string> layout_names_, meshes_;
  std::map<std::string, Location> paths_, groups_;
};

// The coordinate variables of a mesh, in XML order. Reports a problem and returns none if one is unknown.
std::vector<std::uint32_t> coordinates_of(Build& build, const Element& mesh, const model::VariableNames& names,
                                          const std::vector<std::string>& paths) {
  std::vector<std::uint32_t> ids;
  for (const Element& coord : mesh.children) {
    const Attribute& name = *coord.find("name");
    const int id = names.find(name.value);
    if (id < 0) {
      build.problems.add(name.value_where, format("mesh '{}': no variable '{}' is declared{}", mesh.value("name"), name.value,
                                                  name_hint(name.value, paths)));
      return {};
    }
    const model::Layout& layout = build.model.layouts[build.model.variables[static_cast<std::size_t>(id)].layout];
    const bool numbers = layout.type != DC_COMPOUND && layout.type != DC_CHAR;
    if (mesh.value("type") == "rectilinear" && (layout.dimensions.size() > 1 || !numbers)) {
      build.problems.add(name.value_where,
                         format("mesh '{}': '{}' is not a list of numbers, as a coordinate of a rectilinear mesh must be",
                                mesh.value("name"), name.value));
      return {};
    }
    ids.push_back(static_cast<std::uint32_t>(id));
  }
  return ids;
}

// The coordinates are in the order of the layout's dimensions.
void assign_coordinates(Build& build, const std::string& mesh, const std::vector<std::uint32_t>& ids) {
  for (model::Variable& variable : build.model.variables) {
    if (variable.mesh != mesh) continue;
    const model::Layout& layout = build.model.layouts[variable.layout];
    if (ids.size() != layout.dimensions.size()) {
      build.problems.add(
          variable.where,
          format("variable '{}' has {} dimensions and its mesh '{}' {} coordinates; a rectilinear mesh needs one <coord> "
                 "for each dimension, in their order",
                 variable.path, layout.dimensions.size(), mesh, ids.size()));
      continue;
    }
    variable.coordinates = ids;
    if (layout.fortran_order) std::reverse(variable.coordinates.begin(), variable.coordinates.end());
  }
}

void build_meshes(Build& build) {
  const model::VariableNames names(build.model);
  std::vector<std::string> paths;
  for (const model::Variable& variable : build.model.variables) paths.push_back(variable.path);
  DeclaredNames meshes;
  for (const Element* mesh : build.all("mesh")) {
    meshes.add(build, "mesh", mesh->value("name"), mesh->where, 0);
    if (mesh->children.empty())
      build.problems.add(mesh->where, format("mesh '{}' has no <coord>; give it at least one", mesh->value("name")));
    const std::vector<std::uint32_t> ids = coordinates_of(build, *mesh, names, paths);
    if (!ids.empty() && mesh->value("type") == "rectilinear") assign_coordinates(build, mesh->value("name"), ids);
  }
}

// dc_set_shape and dc_set_position accept the name of a layout or of a variable, and a variable takes precedence: the other
// variables of the layout would keep their shape. If the variable is the only one of its layout, both names mean the same.
void check_layout_names(Build& build) {
  const model::Model& model = build.model;
  const model::VariableNames names(model);
  std::vector<int> namesake;  // by layout: the variable of the same name, or negative
  for (const model::Layout& layout : model.layouts) namesake.push_back(names.find(layout.name));
  std::set<std::size_t> warned;
  for (const model::Variable& other : model.variables) {
    if (model.layouts.empty() || namesake[other.layout] < 0) continue;
    const model::Variable& variable = model.variables[static_cast<std::size_t>(namesake[other.layout])];
    if (variable.id == other.id || !warned.insert(other.layout).second) continue;
    const model::Layout& layout = model.layouts[other.layout];
    build.problems.add(
        variable.where,
        format("variable '{}' has the name of the layout at line {}, which '{}' at line {} also uses: a program that "
               "gives '{}' a shape or a position could mean either; rename one of them",
               variable.path, layout.where.line, other.path, other.where.line, layout.name));
  }
}

}  // namespace

void build_variables(Build& build) {
  VariableReader reader(build);
  VariableReader::Inherited top_level;
  top_level.on_full = build.model.architecture.on_full;
  for (const Element* element : build.flat) {
    if (element->name == "variable") reader.variable(*element, top_level);
    if (element->name == "group") reader.group(*element, top_level);
  }
  if (too_many(build, build.root, "variables", build.model.variables.size(), kMostVariables)) return;
  check_layout_names(build);
  build_meshes(build);
}

}  // namespace damaris::config
