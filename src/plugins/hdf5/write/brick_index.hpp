// The smallest and largest value of each brick of a dataset: where in it a value can be, without reading it.
// Used by: the hdf5 plugin; look() on the server's workers, the rest on its dispatch thread.
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
  double min, max;  // of the finite values; NaN without one
};

// Whether values of this type have an order: integers and reals.
bool has_order(dc_type type);

// Without a value; and what holds all of both.
BrickRange no_range();
BrickRange merged(const BrickRange& a, const BrickRange& b);

// Of `count` values. Threads: any; pure.
BrickRange range_of(dc_type type, const void* values, std::size_t count);

// What is seen of values in one pass: their checksum, and their range if they have an order.
struct Seen {
  std::uint32_t checksum;
  BrickRange range;
};
// Of `count` values of the variable. Threads: any; pure.
Seen look(const dc_variable_info_t& variable, const void* values, std::size_t count);

class BrickIndex {
 public:
  explicit BrickIndex(const Extents& brick) : brick_(brick) {}
  // In the order of the bricks.
  void add(const BrickRange& range) { ranges_.push_back(range); }
  // Of all bricks.
  void tell(manifest::DatasetEntry& entry) const;
  // Attributes value_range, and with several bricks index_extents, index_min, index_max; none without a finite value.
  void label(const Dataset& dataset, int ndims) const;

 private:
  BrickRange all() const;

  Extents brick_;
  std::vector<BrickRange> ranges_;
};

}  // namespace damaris::hdf5
