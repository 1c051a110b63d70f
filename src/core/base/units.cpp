#include "core/base/units.hpp"

#include <limits>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/base/format.hpp"

namespace damaris {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

// An unsigned decimal number and the unit that follows it. Not strtod, which depends on the locale and accepts "inf" and hexadecimal.
struct Quantity {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;  // in units of 1 / fraction_unit
  std::uint64_t fraction_unit = 1;
  std::string unit;  // lower case, blanks removed
};

bool digit(char c) { return c >= '0' && c <= '9'; }

std::optional<Quantity> split(std::string_view text) {
  Quantity q;
  std::size_t i = 0;
  if (text.empty() || !digit(text[0])) return {};
  for (; i < text.size() && digit(text[i]); ++i) {
    if (q.whole > (kLargest - 9) / 10) return {};
    q.whole = q.whole * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  if (i < text.size() && text[i] == '.') {
    const std::size_t point = i++;
    for (; i < text.size() && digit(text[i]); ++i) {
      if (i - point > 9) return {};
      q.fraction = q.fraction * 10 + static_cast<std::uint64_t>(text[i] - '0');
      q.fraction_unit *= 10;
    }
    if (q.fraction_unit == 1) return {};
  }
  while (i < text.size() && text[i] == ' ') ++i;
  for (; i < text.size(); ++i) q.unit += ascii_lower(text[i]);
  return q;
}

std::optional<std::uint64_t> scale(const Quantity& q, std::uint64_t factor) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{q.whole} * factor + Wide{q.fraction} * factor / q.fraction_unit;
  if (product > kLargest) return {};
  return static_cast<std::uint64_t>(product);
}

template <std::size_t N>
std::optional<std::uint64_t> parse(std::string_view text, const std::pair<const char*, std::uint64_t> (&units)[N]) {
  const auto quantity = split(text);
  if (!quantity) return {};
  for (const auto& [name, factor] : units)
    if (quantity->unit == name) return scale(*quantity, factor);
  return {};
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::pair<const char*, std::uint64_t> kUnits[] = {
      {"", 1},           {"b", 1},          {"kb", 1000},        {"mb", 1000'000},   {"gb", 1000'000'000}, {"tb", 1000'000'000'000},
      {"kib", 1u << 10}, {"mib", 1u << 20}, {"gib", 1ull << 30}, {"tib", 1ull << 40}};
  return parse(text, kUnits);
}

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
  static constexpr std::pair<const char*, std::uint64_t> kUnits[] = {
      {"", 1000}, {"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}};
  const auto value = parse(text, kUnits);
  if (!value) return {};
  return static_cast<std::int64_t>(*value);
}

std::string size_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  std::string number = format("{:.1f}", value);
  if (number.size() > 2 && number.compare(number.size() - 2, 2, ".0") == 0) number.resize(number.size() - 2);
  return number + " " + kUnits[unit];
}

}  // namespace damaris
