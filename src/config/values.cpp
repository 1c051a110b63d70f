#include "config/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "config/build.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace damaris::config {
namespace {

const std::vector<std::string> kStages = {"none", "absolute", "relative", "float16", "deflate", "zstd"};
constexpr const char* kKnown =
    "known are absolute:ERROR, relative:ERROR or float16[:SCALE:OFFSET[:keep]] first, then deflate[:1-12] or zstd[:1-19], or none";

std::optional<double> real(const std::string& text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Parses one attribute, stage by stage.
class ReductionReader {
 public:
  ReductionReader(Build& build, const Attribute& attribute) : build_(build), attribute_(attribute) {}

  dc_reduction_t read() {
    const std::vector<TextPart> stages = split(attribute_.value, ',');
    for (const TextPart& stage : stages) take(stage, stages.size());
    return result_;
  }

 private:
  void wrong(const TextPart& piece, const std::string& why) {
    build_.problems.add(inside(attribute_, piece.at), format("{}: {}", quoted(attribute_), why));
  }

  void take(const TextPart& stage, std::size_t stages) {
    const std::vector<TextPart> parts = split(stage.text, ':', stage.at);
    const std::string& name = parts.front().text;
    if (name == "none" && stages == 1 && parts.size() == 1) return;
    if (name == "absolute" || name == "relative") return round(parts);
    if (name == "float16") return float16(parts);
    if (name == "deflate" || name == "zstd") return compress(parts);
    const std::string guess = nearest_name(name, kStages);
    wrong(parts.front(),
          format("no reduction '{}' here; {}{}", name, kKnown, guess.empty() ? "" : format("; did you mean '{}'?", guess)));
  }

  bool precision_is_free(const TextPart& piece) {
    if (result_.precision == DC_EXACT && result_.codec == DC_CODEC_NONE) return true;
    wrong(piece, "values are rounded or quantized once, and before they are compressed");
    return false;
  }

  void round(const std::vector<TextPart>& parts) {
    if (!precision_is_free(parts.front())) return;
    const bool relative = parts.front().text == "relative";
    const std::optional<double> bound = parts.size() == 2 ? real(parts[1].text) : std::nullopt;
    if (!bound || *bound <= 0 || (relative && *bound >= 1))
      return wrong(parts.back(), format("{}:ERROR needs an error that is more than 0{}, for example {}:1e-3", parts.front().text,
                                        relative ? " and less than 1" : "", parts.front().text));
    result_.precision = relative ? DC_ROUND_RELATIVE : DC_ROUND_ABSOLUTE;
    result_.bound = *bound;
  }

  void float16(const std::vector<TextPart>& parts) {
    if (!precision_is_free(parts.front())) return;
    result_.precision = DC_FLOAT16;
    if (parts.size() == 1) return;
    const std::optional<double> scale = real(parts[1].text), offset = real(parts.size() > 2 ? parts[2].text : "");
    if (!scale || !std::isnormal(*scale) || !offset || parts.size() > 4)
      return wrong(parts[1], "float16:SCALE:OFFSET needs a scale that is not 0 and an offset, for example float16:0.01:300");
    if (parts.size() == 4 && parts[3].text != "keep")
      return wrong(parts[3],
                   format("'{}' is no policy for values that overflow 16 bits; allowed is keep, or nothing", parts[3].text));
    result_.has_packing = 1;
    result_.scale = *scale;
    result_.offset = *offset;
    result_.keep_on_overflow = parts.size() == 4 ? 1 : 0;
  }

  void compress(const std::vector<TextPart>& parts) {
    if (result_.codec != DC_CODEC_NONE) return wrong(parts.front(), "values are compressed once");
    const bool deflate = parts.front().text == "deflate";
    const int highest = deflate ? 12 : 19;
    const std::optional<double> level = parts.size() == 1 ? 1 : parts.size() == 2 ? real(parts[1].text) : std::nullopt;
    if (!level || *level != std::floor(*level) || *level < 1 || *level > highest)
      return wrong(parts.back(),
                   format("the level of {} must be a whole number from 1 (fast) to {} (small)", parts.front().text, highest));
    result_.codec = deflate ? DC_CODEC_DEFLATE : DC_CODEC_ZSTD;
    result_.level = static_cast<int>(*level);
  }

  Build& build_;
  const Attribute& attribute_;
  dc_reduction_t result_ = {};
};

}  // namespace

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

dc_reduction_t reduction(Build& build, const Attribute& attribute) { return ReductionReader(build, attribute).read(); }

void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable, const dc_reduction_t& reduction) {
  const model::Layout& layout = build.model.layouts[variable.layout];
  if (reduction.precision == DC_EXACT || layout.type == DC_FLOAT32 || layout.type == DC_FLOAT64) return;
  build.problems.add(attribute.value_where, format("{}: '{}' holds {}; only reals can be rounded or stored in 16 bits",
                                                   quoted(attribute), variable.path, model::type_name(layout.type)));
}

}  // namespace damaris::config
