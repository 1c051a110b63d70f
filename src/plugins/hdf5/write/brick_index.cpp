#include "brick_index.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "../file/new_dataset.hpp"
#include "codec/checksum.hpp"
#include "codec/range.hpp"

namespace damaris::hdf5 {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A double may be closer to zero than the integer it was converted from, so that the range would exclude it. From 2^63 on the cast cannot
// be reversed.
template <class T>
double not_above(T value) {
  const auto near = static_cast<double>(value);
  const bool above = std::is_integral_v<T> && (near >= 0x1p63 || static_cast<T>(near) > value);
  return above ? std::nextafter(near, -std::numeric_limits<double>::infinity()) : near;
}

template <class T>
double not_below(T value) {
  const auto near = static_cast<double>(value);
  const bool below = std::is_integral_v<T> && near < 0x1p63 && static_cast<T>(near) < value;
  return below ? std::nextafter(near, std::numeric_limits<double>::infinity()) : near;
}

template <class T>
BrickRange as_doubles(const codec::Range<T>& range) {
  return range.finite ? BrickRange{not_above(range.min), not_below(range.max)} : BrickRange{kNoValue, kNoValue};
}

// Calls `visit` with the values as a typed pointer, or `otherwise` for unordered types.
template <class Visit, class Otherwise>
auto with_type(dc_type type, const void* values, Visit&& visit, Otherwise&& otherwise) {
  switch (type) {
    case DC_FLOAT32:
      return visit(static_cast<const float*>(values));
    case DC_FLOAT64:
      return visit(static_cast<const double*>(values));
    case DC_INT8:
      return visit(static_cast<const std::int8_t*>(values));
    case DC_UINT8:
      return visit(static_cast<const std::uint8_t*>(values));
    case DC_INT16:
      return visit(static_cast<const std::int16_t*>(values));
    case DC_UINT16:
      return visit(static_cast<const std::uint16_t*>(values));
    case DC_INT32:
      return visit(static_cast<const std::int32_t*>(values));
    case DC_UINT32:
      return visit(static_cast<const std::uint32_t*>(values));
    case DC_INT64:
      return visit(static_cast<const std::int64_t*>(values));
    case DC_UINT64:
      return visit(static_cast<const std::uint64_t*>(values));
    default:
      return otherwise();
  }
}

}  // namespace

bool has_order(dc_type type) { return type != DC_ANY && type != DC_CHAR && type != DC_COMPOUND; }

BrickRange range_of(dc_type type, const void* values, std::size_t count) {
  return with_type(
      type, values, [&](const auto* typed) { return as_doubles(codec::range_of(typed, count)); }, no_range);
}

BrickSummary summarize(const dc_variable_info_t& variable, const void* values, std::size_t count) {
  const auto ordered = [&](const auto* typed) {
    const auto found = codec::summarize(typed, count);
    return BrickSummary{found.checksum, as_doubles(found.range)};
  };
  return with_type(variable.type, values, ordered, [&] {
    return BrickSummary{codec::crc32(values, count * variable.element_bytes), no_range()};
  });
}

BrickRange no_range() { return {kNoValue, kNoValue}; }

// std::fmin and fmax ignore NaN.
BrickRange merged(const BrickRange& a, const BrickRange& b) { return {std::fmin(a.min, b.min), std::fmax(a.max, b.max)}; }

BrickRange BrickIndex::all() const {
  BrickRange all = no_range();
  for (const BrickRange& one : ranges_) all = merged(all, one);
  return all;
}

void BrickIndex::fill_range(manifest::DatasetEntry& entry) const {
  const BrickRange range = all();
  if (std::isnan(range.min)) return;
  entry.min = range.min;
  entry.max = range.max;
}

void BrickIndex::label(const Dataset& dataset, int ndims) const {
  const BrickRange range = all();
  if (std::isnan(range.min)) return;
  write_attribute(dataset.id(), "value_range", std::vector<double>{range.min, range.max});
  if (ranges_.size() < 2) return;
  std::vector<double> low, high;
  for (const BrickRange& one : ranges_) {
    low.push_back(one.min);
    high.push_back(one.max);
  }
  write_attribute(dataset.id(), "index_extents", std::vector<std::int64_t>(brick_.begin(), brick_.begin() + ndims));
  write_attribute(dataset.id(), "index_min", low);
  write_attribute(dataset.id(), "index_max", high);
}

}  // namespace damaris::hdf5
