#include "config/values.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/format.hpp"
#include "core/base/nearest.hpp"
#include "core/base/units.hpp"

namespace damaris::config {

std::vector<TextPart> split(const std::string& value, char separator, std::size_t at) {
  std::vector<TextPart> pieces;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(separator, begin), value.size());
    std::size_t first = begin, last = end;
    while (first < last && value[first] == ' ') ++first;
    while (last > first && value[last - 1] == ' ') --last;
    pieces.push_back({value.substr(first, last - first), at + first});
    begin = end + 1;
  }
  return pieces;
}

std::optional<model::Expression> expression(Build& build, const Attribute& attribute, const TextPart& piece,
                                            const std::vector<std::string>& parameters) {
  if (piece.text.empty()) {
    build.problems.add(inside(attribute, piece.at), format("{}: an expression is missing here", quoted(attribute)));
    return {};
  }
  try {
    model::Expression result = model::Expression::parse(piece.text);
    const std::set<std::string> known(parameters.begin(), parameters.end());
    for (const std::string& name : result.names()) {
      if (known.count(name) != 0) continue;
      const std::size_t at = piece.at + piece.text.find(name);
      build.problems.add(inside(attribute, at),
                         format("{}: no parameter '{}' is declared{}", quoted(attribute), name, name_hint(name, parameters)));
      return {};
    }
    return result;
  } catch (const model::ExpressionError& wrong) {
    build.problems.add(inside(attribute, piece.at + wrong.position()), format("{}: {}", quoted(attribute), wrong.what()));
    return {};
  }
}

std::int64_t number(Build& build, const Attribute& attribute, std::int64_t lowest, std::int64_t highest) {
  std::int64_t value = -1;
  const char* end = attribute.value.data() + attribute.value.size();
  const auto [stop, error] = std::from_chars(attribute.value.data(), end, value);
  if (error == std::errc{} && stop == end && value >= lowest && value <= highest) return value;
  build.problems.add(attribute.value_where,
                     format("{}: it must be a whole number from {} to {}", quoted(attribute), lowest, highest));
  return lowest;
}

std::int64_t duration(Build& build, const Attribute& attribute, std::int64_t lowest_ms) {
  constexpr std::int64_t kHighest = 24ll * 24 * 3600 * 1000;
  const auto value = parse_duration_ms(attribute.value);
  if (value && *value >= lowest_ms && *value <= kHighest) return *value;
  build.problems.add(attribute.value_where, format("{}: it must be from {} ms to 24 days (576h)", quoted(attribute), lowest_ms));
  return lowest_ms;
}

std::vector<std::string> parameter_names(const model::Model& model) {
  std::vector<std::string> names;
  for (const model::Parameter& parameter : model.parameters) names.push_back(parameter.name);
  return names;
}

bool too_many(Build& build, const Element& element, const char* what, std::size_t count, std::size_t most) {
  if (count <= most) return false;
  build.problems.add(element.where, format("{} {}; at most {} are allowed", count, what, most));
  return true;
}

}  // namespace damaris::config
