// The minimum and maximum of each brick of a dataset, an index to find values without reading everything.
// Used by: the hdf5 plugin; summarize() on the server's workers, the rest on its work thread.
// Before it: the values of a brick as the simulation wrote them. After it: attributes of the dataset, the manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../file/handle.hpp"
#include "../layout/pieces.hpp"
#include "manifest/entries.hpp"

namespace damaris::hdf5 {

struct BrickRange {
  double min, max;  // of the finite values; NaN if there are none
};

// Whether the type is ordered: integers and reals.
bool has_order(dc_type type);

// The range of no values; and the range of the union.
BrickRange no_range();
BrickRange merged(const BrickRange& a, const BrickRange& b);

// Of `count` values. Threads: any; pure.
BrickRange range_of(dc_type type, const void* values, std::size_t count);

// The checksum of values, and their range if the type is ordered.
struct BrickSummary {
  std::uint32_t checksum;
  BrickRange range;
};
// Summarizes `count` values of the variable in one pass. Threads: any; pure.
BrickSummary summarize(const dc_variable_info_t& variable, const void* values, std::size_t count);

class BrickIndex {
 public:
  explicit BrickIndex(const Extents& brick) : brick_(brick) {}
  // Adds the range of the next brick, in brick order.
  void add(const BrickRange& range) { ranges_.push_back(range); }
  // Sets the range of the whole dataset in `entry`.
  void fill_range(manifest::DatasetEntry& entry) const;
  // Writes the attributes value_range and, for several bricks, index_extents, index_min, index_max; none without a finite value.
  void label(const Dataset& dataset, int ndims) const;

 private:
  BrickRange all() const;

  Extents brick_;
  std::vector<BrickRange> ranges_;
};

}  // namespace damaris::hdf5
