// The arrays of one process: what a model would have computed. The same global values, however the rows are divided.
// Used by: every computing rank.
// Before it: the grid, a slab of it. After it: a way writes them.
#pragma once

#include <string>
#include <vector>

#include "phases/grid.hpp"

namespace damaris::bench {

// A field of a file, which is repeated side by side.
struct Pattern {
  std::uint64_t levels = 0, rows = 0, columns = 0;
  std::vector<float> values;
};

class Fields {
 public:
  // `file`: HDF5 with groups of 3D float32 datasets, of which phases take the groups and fields the datasets in turn; "": generated.
  // Throws Error(DC_E_IO).
  Fields(const Grid& grid, Slab slab, const std::string& file);

  void compute(int phase);

  const float* operator[](int field) const { return values_[static_cast<std::size_t>(field)].data(); }
  const Grid& grid() const { return grid_; }
  const Slab& slab() const { return slab_; }
  // Of all fields.
  std::uint64_t bytes() const { return kFields * grid_.bytes(slab_); }

 private:
  void generate(int phase, int field, float* values) const;
  void repeat(const Pattern& pattern, float* values) const;

  Grid grid_;
  Slab slab_;
  std::vector<std::vector<float>> values_;      // (levels, rows of the slab, columns) each
  std::vector<std::vector<Pattern>> patterns_;  // a list for each group of the file
};

// Every group of the file with its datasets. Throws Error(DC_E_IO).
std::vector<std::vector<Pattern>> read_patterns(const std::string& file);

}  // namespace damaris::bench
