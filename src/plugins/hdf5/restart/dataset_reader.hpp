// Reads a box of one stored dataset into a box of memory, with the values that the simulation wrote.
// Used by: restart on the server's work thread.
// Before it: stored_parts.hpp, which selects boxes of datasets. After it: the block of the requesting client.
#pragma once

#include <string>
#include <vector>

#include "../file/handle.hpp"
#include "../layout/gather.hpp"
#include "manifest/stored_parts.hpp"

namespace damaris::hdf5 {

class DatasetReader {
 public:
  // `path`: of the file. Throws Failure if it cannot be opened as HDF5.
  explicit DatasetReader(const std::string& path);

  // Fills the part's box of `to`, an array in the part's coordinates. Throws Failure, or damaris::Error: DC_E_TYPE if the element type differs,
  // DC_E_IO if the extents differ from the manifest.
  void read(const manifest::StoredPart& part, const dc_variable_info_t& variable, const Array& to) const;

 private:
  File file_;
};

}  // namespace damaris::hdf5
