#include "config/build.hpp"
#include "config/declared_names.hpp"
#include "config/types.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kMostLayouts = 10'000;

void set_type(Build& build, const Attribute& attribute, model::Layout& layout) {
  if (const auto type = builtin_type(attribute.value)) {
    layout.type = *type;
    layout.element_bytes = model::type_bytes(*type);
    return;
  }
  std::vector<std::string> compounds;
  for (std::size_t i = 0; i < build.model.compounds.size(); ++i) {
    const model::Compound& compound = build.model.compounds[i];
    compounds.push_back(compound.name);
    if (compound.name != attribute.value) continue;
    layout.type = DC_COMPOUND;
    layout.compound = static_cast<int>(i);
    layout.element_bytes = compound.size_bytes;
    return;
  }
  build.problems.add(attribute.value_where, format("{}: no such type{}", quoted(attribute), type_hint(attribute.value, compounds)));
}

// Reads one list of a layout. `dimensions` is the number of dimensions, or 0 while it is unknown.
class ListReader {
 public:
  ListReader(Build& build, const std::vector<std::string>& parameters) : build_(build), parameters_(parameters) {}

  std::vector<model::Expression> expressions(const Attribute& attribute, const char* what, std::size_t dimensions) {
    std::vector<model::Expression> list;
    for (const TextPart& piece : pieces(attribute, what, dimensions)) list.push_back(one(attribute, piece));
    return list;
  }

  std::vector<model::GhostWidth> ghost(const Attribute& attribute, std::size_t dimensions) {
    std::vector<model::GhostWidth> list;
    for (const TextPart& piece : pieces(attribute, "ghost widths", dimensions)) {
      const std::vector<TextPart> ends = split(piece.text, ':', piece.at);
      if (ends.size() > 2)
        build_.problems.add(inside(attribute, ends[2].at),
                            format("{}: a width is one number, or two with a colon: low:high", quoted(attribute)));
      const model::Expression low = one(attribute, ends.front());
      list.push_back({low, ends.size() == 1 ? low : one(attribute, ends.back())});
    }
    return list;
  }

 private:
  std::vector<TextPart> pieces(const Attribute& attribute, const char* what, std::size_t dimensions) {
    std::vector<TextPart> list = split(attribute.value, ',');
    if (dimensions == 0 && list.size() > DC_MAX_DIMS)
      build_.problems.add(attribute.value_where,
                          format("{}: {} dimensions; at most {} are allowed", quoted(attribute), list.size(), DC_MAX_DIMS));
    if (dimensions != 0 && list.size() != dimensions)
      build_.problems.add(attribute.value_where, format("{}: {} {} for {} dimensions; give one for each", quoted(attribute),
                                                        list.size(), what, dimensions));
    return list;
  }

  model::Expression one(const Attribute& attribute, const TextPart& piece) {
    return expression(build_, attribute, piece, parameters_).value_or(model::Expression::constant(0));
  }

  Build& build_;
  const std::vector<std::string>& parameters_;
};

const Attribute* ghost_attribute(Build& build, const Element& element) {
  const Attribute* ghost = element.find("ghost");
  const Attribute* older = element.find("ghosts");
  if (ghost != nullptr && older != nullptr)
    build.problems.add(older->where, "'ghosts' is the older name of 'ghost'; give one of them");
  return ghost != nullptr ? ghost : older;
}

model::Layout layout(Build& build, const Element& element, ListReader& lists) {
  model::Layout result;
  result.name = element.value("name");
  result.where = element.where;
  set_type(build, *element.find("type"), result);
  const std::string language = element.value_or_empty("language");
  result.fortran_order = (language.empty() ? build.root.value("language") : language) == "fortran";
  const Attribute& dimensions = *element.find("dimensions");
  const bool scalar = dimensions.value.find_first_not_of(' ') == std::string::npos;
  if (scalar)
    result.dimensions.push_back(model::Expression::constant(1));
  else
    result.dimensions = lists.expressions(dimensions, "dimensions", 0);
  const std::size_t count = result.dimensions.size();
  const Attribute* global = element.find("global");
  const Attribute* ghost = ghost_attribute(build, element);
  if (scalar && (global != nullptr || ghost != nullptr)) {
    build.problems.add(element.where, format("layout '{}' has no dimensions, so it cannot have {}", result.name,
                                             global != nullptr ? "global extents" : "ghost zones"));
    return result;
  }
  if (global != nullptr) result.global = lists.expressions(*global, "global extents", count);
  if (ghost != nullptr) result.ghost = lists.ghost(*ghost, count);
  return result;
}

}  // namespace

void build_layouts(Build& build) {
  const std::vector<const Element*> elements = build.all("layout");
  if (!elements.empty() && too_many(build, *elements.front(), "layouts", elements.size(), kMostLayouts)) return;
  const std::vector<std::string> parameters = parameter_names(build.model);
  ListReader lists(build, parameters);
  DeclaredNames names;
  for (const Element* element : elements) {
    if (build.problems.many()) return;
    model::Layout made = layout(build, *element, lists);
    if (names.add(build, "layout", made.name, element->where, 0)) build.model.layouts.push_back(std::move(made));
  }
}

}  // namespace damaris::config
