#include "phases/fields.hpp"

#include <algorithm>
#include <cmath>

namespace damaris::bench {
namespace {

// A wave along one dimension.
std::vector<float> wave(std::uint64_t first, std::uint64_t count, double length, double shift) {
  std::vector<float> values(count);
  for (std::uint64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::sin(2 * M_PI * (static_cast<double>(first + i) / length + shift)));
  return values;
}

// In [-0.5, 0.5), the same for the same place wherever it is computed.
float noise(std::uint64_t place) {
  std::uint64_t bits = place * 0x9E3779B97F4A7C15u;
  bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93u;
  return static_cast<float>(bits >> 40) * 0x1p-24f - 0.5f;
}

}  // namespace

Fields::Fields(const Grid& grid, Slab slab, const std::string& file)
    : grid_(grid), slab_(slab), values_(kFields, std::vector<float>(grid.values(slab))) {
  if (!file.empty()) patterns_ = read_patterns(file);
}

void Fields::compute(int phase) {
  for (int field = 0; field < kFields; ++field) {
    float* const values = values_[static_cast<std::size_t>(field)].data();
    if (patterns_.empty()) {
      generate(phase, field, values);
    } else {
      const auto& group = patterns_[static_cast<std::size_t>(phase) % patterns_.size()];
      repeat(group[static_cast<std::size_t>(field) % group.size()], values);
    }
  }
}

void Fields::generate(int phase, int field, float* values) const {
  const auto up = wave(0, grid_.levels, 40 + field, 0.1 * phase);
  const auto north = wave(slab_.first, slab_.count, 96 + 7 * field, 0.03 * phase);
  const auto east = wave(0, grid_.columns, 64 + 5 * field, 0.07 * phase);
  const float offset = 100.0f * static_cast<float>(field);
  std::uint64_t series = static_cast<std::uint64_t>(phase * kFields + field) * grid_.levels;
  for (std::uint64_t level = 0; level < grid_.levels; ++level, ++series)
    for (std::uint64_t row = 0; row < slab_.count; ++row) {
      const std::uint64_t place = (series * grid_.rows + slab_.first + row) * grid_.columns;
      const float height = 10 * up[level] * north[row];
      for (std::uint64_t column = 0; column < grid_.columns; ++column)
        *values++ = offset + height * east[column] + 0.01f * noise(place + column);
    }
}

void Fields::repeat(const Pattern& pattern, float* values) const {
  for (std::uint64_t level = 0; level < grid_.levels; ++level)
    for (std::uint64_t row = slab_.first; row < slab_.first + slab_.count; ++row) {
      const float* const from =
          pattern.values.data() + (level % pattern.levels * pattern.rows + row % pattern.rows) * pattern.columns;
      for (std::uint64_t column = 0; column < grid_.columns; column += pattern.columns) {
        const std::uint64_t length = std::min(pattern.columns, grid_.columns - column);
        values = std::copy(from, from + length, values);
      }
    }
}

}  // namespace damaris::bench
