// The declarations of <data> that variables are made of: types, parameters, layouts.
#include <algorithm>
#include <optional>
#include <utility>

#include "config/build.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace damaris::config {
namespace {

constexpr std::size_t kMostTypes = 1000, kMostFields = 1000;
constexpr std::uint64_t kLargest = 1u << 30;

// The first name of a type is the recommended one. `real` has 32 bits, as in Fortran and in the example of the paper.
constexpr std::pair<const char*, dc_type> kTypes[] = {
    {"int8", DC_INT8},     {"int16", DC_INT16},   {"int32", DC_INT32},     {"int64", DC_INT64},    {"uint8", DC_UINT8},
    {"uint16", DC_UINT16}, {"uint32", DC_UINT32}, {"uint64", DC_UINT64},   {"real32", DC_FLOAT32}, {"real64", DC_FLOAT64},
    {"char", DC_CHAR},     {"short", DC_INT16},   {"int", DC_INT32},       {"integer", DC_INT32},  {"long", DC_INT64},
    {"real", DC_FLOAT32},  {"float", DC_FLOAT32}, {"float32", DC_FLOAT32}, {"double", DC_FLOAT64}, {"float64", DC_FLOAT64},
    {"character", DC_CHAR}};
constexpr std::size_t kRecommended = 11;

std::optional<dc_type> builtin_type(const std::string& name) {
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  return {};
}

bool is_integer(dc_type type) { return type >= DC_INT8 && type <= DC_UINT64; }

template <class IsCandidate>
std::string hint(const std::string& wrong, IsCandidate is_candidate, const std::vector<std::string>& more) {
  std::vector<std::string> all = more, recommended;
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (!is_candidate(kTypes[i].second)) continue;
    all.emplace_back(kTypes[i].first);
    if (i < kRecommended) recommended.emplace_back(kTypes[i].first);
  }
  recommended.insert(recommended.end(), more.begin(), more.end());
  const std::string near = nearest_name(wrong, all);
  return near.empty() ? format("; known: {}", join(recommended, ", ")) : format("; did you mean '{}'?", near);
}

// The end of a message about an unknown type: "; did you mean 'x'?" (x may be a synonym or one of `more`), else a list of all
// types without synonyms.
std::string type_hint(const std::string& wrong, const std::vector<std::string>& more = {}) {
  return hint(
      wrong, [](dc_type) { return true; }, more);
}

std::string integer_type_hint(const std::string& wrong) { return hint(wrong, is_integer, {}); }

// Appends a field at its C alignment, or without padding if `packed`.
void place(model::Compound& compound, model::Field field, bool packed, std::uint64_t& alignment) {
  const std::uint64_t unit = model::type_bytes(field.type);
  const std::uint64_t align = packed ? 1 : unit;
  field.offset_bytes = (compound.size_bytes + align - 1) / align * align;
  compound.size_bytes = field.offset_bytes + unit * static_cast<std::uint64_t>(field.count);
  alignment = std::max(alignment, align);
  compound.fields.push_back(std::move(field));
}

std::optional<dc_type> field_type(Build& build, const Attribute& attribute) {
  const auto type = builtin_type(attribute.value);
  if (type) return type;
  const bool compound = std::any_of(build.model.compounds.begin(), build.model.compounds.end(),
                                    [&](const auto& c) { return c.name == attribute.value; });
  build.problems.add(attribute.value_where,
                     compound ? format("{}: a field cannot be of a compound type; list its fields here", quoted(attribute))
                              : format("{}: no such type{}", quoted(attribute), type_hint(attribute.value)));
  return {};
}

model::Compound compound(Build& build, const Element& element) {
  model::Compound result;
  result.name = element.value("name");
  std::uint64_t alignment = 1;
  DeclaredNames names;
  for (const Element& child : element.children) {
    model::Field field;
    field.name = child.value("name");
    field.count = number(build, *child.find("count"), 1, 999'999'999);
    const auto type = field_type(build, *child.find("type"));
    if (!names.add(build, "field", field.name, child.where, 0) || !type) continue;
    field.type = *type;
    place(result, std::move(field), element.is_true("packed"), alignment);
  }
  result.size_bytes = (result.size_bytes + alignment - 1) / alignment * alignment;
  if (element.children.empty())
    build.problems.add(element.where, format("type '{}' has no <field>; give it at least one", result.name));
  too_many(build, element, "fields", element.children.size(), kMostFields);
  if (result.size_bytes > kLargest)
    build.problems.add(element.where, format("type '{}' has {} bytes; at most 1 GiB is allowed", result.name, result.size_bytes));
  return result;
}

constexpr std::size_t kMostParameters = 10'000;

// Sorts parameters topologically: each after those it uses.
class DependencySorter {
 public:
  DependencySorter(Build& build, const std::vector<model::Parameter>& declared)
      : build_(build), declared_(declared), state_(declared.size(), State::fresh) {
    for (std::size_t i = 0; i < declared.size(); ++i) index_.emplace(declared[i].name, i);
  }

  // Reports a problem that names the cycle and returns false if there is no such order.
  bool run() {
    for (std::size_t i = 0; i < declared_.size(); ++i)
      if (!visit(i)) return false;
    return true;
  }
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  enum class State { fresh, open, done };

  bool visit(std::size_t i) {
    if (state_[i] == State::done) return true;
    path_.push_back(i);
    if (state_[i] == State::open) return report_cycle(i);
    state_[i] = State::open;
    for (const std::string& name : declared_[i].expression.names())
      if (const auto used = index_.find(name); used != index_.end() && !visit(used->second)) return false;
    path_.pop_back();
    state_[i] = State::done;
    order_.push_back(i);
    return true;
  }

  bool report_cycle(std::size_t i) {
    constexpr std::size_t kMaxNames = 20;
    const auto begin = std::find(path_.begin(), path_.end(), i);
    std::vector<std::string> names;
    for (auto it = begin; it != path_.end(); ++it) names.push_back(declared_[*it].name);
    if (names.size() > kMaxNames) names.erase(names.begin() + kMaxNames / 2, names.end() - kMaxNames / 2);
    build_.problems.add(declared_[*begin].where, format("parameters use each other in a circle: {}", join(names, " -> ")));
    return false;
  }

  Build& build_;
  const std::vector<model::Parameter>& declared_;
  std::map<std::string, std::size_t> index_;
  std::vector<State> state_;
  std::vector<std::size_t> path_, order_;
};

dc_type integer_type(Build& build, const Attribute& attribute) {
  const auto type = builtin_type(attribute.value);
  if (type && is_integer(*type)) return *type;
  build.problems.add(attribute.value_where,
                     format("{}: a parameter is an integer{}", quoted(attribute), integer_type_hint(attribute.value)));
  return DC_INT64;
}

std::vector<model::Parameter> declared_parameters(Build& build, const std::vector<const Element*>& elements) {
  std::vector<std::string> names;
  for (const Element* element : elements) names.push_back(element->value("name"));
  DeclaredNames known;
  std::vector<model::Parameter> parameters;
  for (const Element* element : elements) {
    model::Parameter p;
    p.name = element->value("name");
    p.where = element->where;
    p.type = integer_type(build, *element->find("type"));
    const Attribute& value = *element->find("value");
    p.expression = expression(build, value, {value.value, 0}, names).value_or(model::Expression::constant(0));
    const Attribute& constant = *element->find("constant");
    const bool computed = !p.expression.names().empty();
    p.constant = computed || constant.value == "true";
    if (computed && constant.given && constant.value == "false")
      build.problems.add(constant.where,
                         format("parameter '{}' is computed from {}, so it cannot be set; remove constant=\"false\"", p.name,
                                join(p.expression.names(), ", ")));
    if (known.add(build, "parameter", p.name, p.where, 0)) parameters.push_back(std::move(p));
  }
  return parameters;
}

// Computes the initial value. Problems name the parameter, its expression and the cause.
void evaluate(Build& build, model::Parameter& parameter, std::map<std::string, std::int64_t>& values) {
  const auto wrong = [&](const std::string& why) {
    build.problems.add(parameter.where, format("parameter '{}': '{}': {}", parameter.name, parameter.expression.text(), why));
  };
  try {
    parameter.value = parameter.expression.evaluate([&](const std::string& name) { return values.at(name); });
    if (parameter.value < model::lowest(parameter.type) || parameter.value > model::highest(parameter.type))
      wrong(format("{} is outside the range of {}", parameter.value, model::type_name(parameter.type)));
  } catch (const model::ExpressionError& error) {
    wrong(error.what());
  }
  values[parameter.name] = parameter.value;
}

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

void build_types(Build& build) {
  const std::vector<const Element*> elements = build.all("type");
  if (!elements.empty() && too_many(build, *elements.front(), "types", elements.size(), kMostTypes)) return;
  DeclaredNames names;
  for (const Element* element : elements) {
    const std::string& name = element->value("name");
    if (builtin_type(name))
      build.problems.add(element->find("name")->value_where, format("type '{}' is built in; choose another name", name));
    model::Compound made = compound(build, *element);
    if (names.add(build, "type", name, element->where, 0)) build.model.compounds.push_back(std::move(made));
  }
}

void build_parameters(Build& build) {
  const std::vector<const Element*> elements = build.all("parameter");
  if (!elements.empty() && too_many(build, *elements.front(), "parameters", elements.size(), kMostParameters)) return;
  const std::size_t problems = build.problems.size();
  const std::vector<model::Parameter> declared = declared_parameters(build, elements);
  DependencySorter sorter(build, declared);
  if (!sorter.run() || build.problems.size() != problems) {
    build.model.parameters = declared;
    return;
  }
  std::map<std::string, std::int64_t> values;
  for (const std::size_t i : sorter.order()) {
    build.model.parameters.push_back(declared[i]);
    evaluate(build, build.model.parameters.back(), values);
  }
}

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
