#include "brick_index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attributes.hpp"
#include "plugins/reduce/range.hpp"

namespace damaris::hdf5 {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <class T>
BrickRange of_reals(const void* values, std::size_t count) {
  const auto range = reduce::range_of(static_cast<const T*>(values), count);
  return range.finite == 0 ? BrickRange{kNone, kNone} : BrickRange{static_cast<double>(range.min), static_cast<double>(range.max)};
}

template <class T>
BrickRange of_integers(const void* values, std::size_t count) {
  const T* const begin = static_cast<const T*>(values);
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
  for (std::size_t i = 0; i < count; ++i) {
    low = std::min(low, begin[i]);
    high = std::max(high, begin[i]);
  }
  return count == 0 ? BrickRange{kNone, kNone} : BrickRange{static_cast<double>(low), static_cast<double>(high)};
}

}  // namespace

bool has_order(dc_type type) { return type != DC_ANY && type != DC_CHAR && type != DC_COMPOUND; }

BrickRange range_of(dc_type type, const void* values, std::size_t count) {
  switch (type) {
    case DC_FLOAT32:
      return of_reals<float>(values, count);
    case DC_FLOAT64:
      return of_reals<double>(values, count);
    case DC_INT8:
      return of_integers<std::int8_t>(values, count);
    case DC_UINT8:
      return of_integers<std::uint8_t>(values, count);
    case DC_INT16:
      return of_integers<std::int16_t>(values, count);
    case DC_UINT16:
      return of_integers<std::uint16_t>(values, count);
    case DC_INT32:
      return of_integers<std::int32_t>(values, count);
    case DC_UINT32:
      return of_integers<std::uint32_t>(values, count);
    case DC_INT64:
      return of_integers<std::int64_t>(values, count);
    case DC_UINT64:
      return of_integers<std::uint64_t>(values, count);
    default:
      return {kNone, kNone};
  }
}

BrickRange no_range() { return {kNone, kNone}; }

// std::fmin and fmax leave NaN out.
BrickRange both(const BrickRange& a, const BrickRange& b) { return {std::fmin(a.min, b.min), std::fmax(a.max, b.max)}; }

BrickRange BrickIndex::all() const {
  BrickRange all = no_range();
  for (const BrickRange& one : ranges_) all = both(all, one);
  return all;
}

void BrickIndex::tell(StoredDataset& told) const {
  const BrickRange range = all();
  if (std::isnan(range.min)) return;
  told.min = range.min;
  told.max = range.max;
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
