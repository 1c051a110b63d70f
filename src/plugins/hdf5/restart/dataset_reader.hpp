// Reads a box of one stored dataset into a box of memory, with the values the simulation wrote.
// Used by: restart on the server's dispatch thread.
// Before it: stored_parts.hpp says which box of which dataset. After it: the block of the client that asked.
#pragma once

#include <string>
#include <vector>

#include "../file/handle.hpp"
#include "../layout/gather.hpp"
#include "manifest/stored_parts.hpp"

namespace damaris::hdf5 {

class DatasetReader {
 public:
  // `path` of the file. Throws Failure when it cannot be opened as HDF5.
  explicit DatasetReader(const std::string& path);

  // Fills the part's box of `to`, an array in the part's coordinates. Throws Failure, or damaris::Error: DC_E_TYPE for a dataset of other
  // elements, DC_E_IO for one of other extents than the manifest says.
  void read(const manifest::StoredPart& part, const dc_variable_info_t& variable, const Array& to) const;

 private:
  File file_;
};

}  // namespace damaris::hdf5
