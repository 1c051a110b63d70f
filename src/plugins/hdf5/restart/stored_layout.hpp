// Opens what a manifest says is a file of Damaris, which somebody else may have made: nothing in it leads to another file, and its datasets lie
// only as Damaris lays them out.
// Used by: `damaris verify`, one thread; restart on the server's dispatch thread.
// Before it: the manifest of a run. After it: compressed_chunks.hpp, or HDF5 where a dataset has no filters.
#pragma once

#include <optional>
#include <string>

#include "../file/handle.hpp"
#include "codec/encoder.hpp"
#include "core/base/box.hpp"

namespace damaris::hdf5 {

// For reading, without HDF5's lock: any user who may read the file could hold that. Throws Failure, for a named pipe too.
File open_stored(const std::string& path);

// A dataset whose values are in the file itself. Throws Failure for one behind an external link, in external storage, or put together from
// other files: HDF5 would follow to any file of this user, and wait at a named pipe. Nor for one that layout_of refuses: what it costs to
// read has a bound.
Dataset open_dataset(const File& file, const std::string& path);

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
