// How a dataset that somebody else may have made lies in its file: only as Damaris lays them out.
// Used by: `damaris verify`, one thread; restart on the server's dispatch thread.
// Before it: an open dataset. After it: compressed_chunks.hpp, or HDF5 where it has no filters.
#pragma once

#include <optional>
#include <string>

#include "../file/handle.hpp"
#include "codec/encoder.hpp"
#include "core/base/box.hpp"

namespace damaris::hdf5 {

struct StoredLayout {
  // Then HDF5 is not to read it: what its filters make of a chunk has no bound.
  bool has_filters() const { return is_shuffled || codec; }

  Box whole;                          // of the dataset, from zero on
  std::size_t element_bytes = 0;      // in the file's type
  std::optional<Extents> chunk;       // none: it has no chunks
  bool is_shuffled = false;           // the first filter is HDF5's shuffle
  std::optional<codec::Codec> codec;  // of the filter behind it, or of the only one
};

// Throws Failure that names `path`, the dataset's: for values in the dataset's header; for filters that Damaris does not write, or in another order or number; for chunks that
// are larger than the dataset in some dimension; for extents beyond all numbers.
StoredLayout layout_of(const Dataset& dataset, const std::string& path);

}  // namespace damaris::hdf5
