#include "config/types.hpp"

#include <algorithm>
#include <utility>

#include "config/build.hpp"
#include "config/declared_names.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"

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

}  // namespace

std::optional<dc_type> builtin_type(const std::string& name) {
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  return {};
}

bool is_integer(dc_type type) { return type >= DC_INT8 && type <= DC_UINT64; }

std::string type_hint(const std::string& wrong, const std::vector<std::string>& more) {
  return hint(
      wrong, [](dc_type) { return true; }, more);
}

std::string integer_type_hint(const std::string& wrong) { return hint(wrong, is_integer, {}); }

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

}  // namespace damaris::config
