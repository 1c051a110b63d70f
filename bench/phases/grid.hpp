// The global arrays of a run and the part of them that a process has.
// Used by: every rank.
// Before it: the options, the number of computing processes. After it: fields, files, the XML.
#pragma once

#include <algorithm>
#include <cstdint>

namespace damaris::bench {

constexpr int kFields = 8;

// Rows [first, first + count) of every level.
struct Slab {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Extents of one field, C order.
struct Grid {
  std::uint64_t levels = 32;
  std::uint64_t rows = 0;
  std::uint64_t columns = 128;

  // As near to `bytes` for all fields together as whole rows allow, and a row for each of `processes` at least.
  static Grid of_bytes(std::uint64_t bytes, int processes) {
    Grid grid;
    const std::uint64_t row_bytes = kFields * grid.levels * grid.columns * sizeof(float);
    grid.rows = std::max<std::uint64_t>((bytes + row_bytes / 2) / row_bytes, static_cast<std::uint64_t>(processes));
    return grid;
  }
  // The part of process `index` of `parts`; they differ by one row at most.
  Slab slab(int index, int parts) const {
    const auto i = static_cast<std::uint64_t>(index), n = static_cast<std::uint64_t>(parts);
    return {rows * i / n, rows * (i + 1) / n - rows * i / n};
  }
  std::uint64_t largest_slab_rows(int parts) const {
    return (rows + static_cast<std::uint64_t>(parts) - 1) / static_cast<std::uint64_t>(parts);
  }

  // Of one field.
  std::uint64_t values(const Slab& slab) const { return levels * slab.count * columns; }
  std::uint64_t bytes(const Slab& slab) const { return values(slab) * sizeof(float); }
};

}  // namespace damaris::bench
