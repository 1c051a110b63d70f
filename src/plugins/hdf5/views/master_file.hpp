// The master file of a run: each variable as one array over all files and steps, as virtual datasets, whose dimensions have names for h5py,
// netCDF and xarray.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: global_view.hpp. After it: xarray, h5py, h5dump; the high-level library of HDF5. docs/file-format.md describes its contents.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "core/base/output_file.hpp"
#include "global_view.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// Writes <stem>.h5 to a temporary file and renames it into place, so that the name always refers to a complete file. Does not open the
// files it refers to; it names them without folder, so that the folder can be moved. It has no external links: netCDF-C would follow each
// when it opens the file, and fail at a dangling one.
class MasterWriter {
 public:
  // `complete`: the run has ended, and nothing is omitted. The arguments must outlive this object unchanged. All functions throw Failure.
  // After a failure, or if this object is destroyed before all is written, no file is left.
  MasterWriter(const ViewPlace& place, const GlobalView& view, const ViewNames& names, const Steps& steps, const dc_host_t& host,
               bool complete);
  ~MasterWriter();
  MasterWriter(const MasterWriter&) = delete;
  MasterWriter& operator=(const MasterWriter&) = delete;

  // Writes an array, or something of comparable cost. Returns whether there is more; the last piece puts the file in place.
  bool write_piece();

 private:
  class Content;
  void add_array(std::size_t number);
  const ViewPlace& place_;
  const GlobalView& view_;
  OutputFile output_;
  Hdf5File file_;
  std::unique_ptr<Content> content_;
  std::vector<std::string> not_shown_;
  std::size_t next_ = 0;  // the next piece: the scales, each array, the end
};

}  // namespace damaris::hdf5
