// Opens files of a run as untrusted input, because anyone may have written them: they must not refer to other files, and their datasets must
// have a layout that Damaris writes.
// Used by: `damaris verify`, one thread; restart on the server's work thread.
// Before it: the manifest of a run. After it: compressed_chunks.hpp, or HDF5 for a dataset without filters.
#pragma once

#include <optional>
#include <string>

#include "../file/handle.hpp"
#include "codec/encoder.hpp"
#include "core/base/box.hpp"

namespace damaris::hdf5 {

// Opens for reading, without HDF5's lock, which any user with read access could hold. Throws Failure, also for a named pipe.
File open_stored(const std::string& path);

// Opens a dataset whose values are in the file itself. Throws Failure for one behind an external link, in external storage, or virtual: HDF5
// would open any file of this user, and block on a named pipe. Also throws for one that layout_of rejects, which bounds the cost of
// reading.
Dataset open_dataset(const File& file, const std::string& path);

struct StoredLayout {
  // Then HDF5 must not read it, because the output of its filters is unbounded.
  bool has_filters() const { return is_shuffled || codec; }

  Box whole;                          // of the dataset, starting at zero
  std::size_t element_bytes = 0;      // in the file's type
  std::optional<Extents> chunk;       // none: not chunked
  bool is_shuffled = false;           // the first filter is HDF5's shuffle
  std::optional<codec::Codec> codec;  // of the filter after it, or of the only one
};

// Throws Failure naming `path`, the dataset's, for values in the object header; for other filters, or another order or number of them, than
// Damaris writes; for chunks larger than the dataset in a dimension; for extents that overflow.
StoredLayout layout_of(const Dataset& dataset, const std::string& path);

}  // namespace damaris::hdf5
