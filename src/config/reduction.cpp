#include "config/reduction.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "config/build.hpp"
#include "config/values.hpp"
#include "core/base/format.hpp"
#include "core/base/nearest.hpp"

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

dc_reduction_t reduction(Build& build, const Attribute& attribute) { return ReductionReader(build, attribute).read(); }

void check_reduction(Build& build, const Attribute& attribute, const model::Variable& variable, const dc_reduction_t& reduction) {
  const model::Layout& layout = build.model.layouts[variable.layout];
  if (reduction.precision == DC_EXACT || layout.type == DC_FLOAT32 || layout.type == DC_FLOAT64) return;
  build.problems.add(attribute.value_where, format("{}: '{}' holds {}; only reals can be rounded or stored in 16 bits",
                                                   quoted(attribute), variable.path, model::type_name(layout.type)));
}

}  // namespace damaris::config
