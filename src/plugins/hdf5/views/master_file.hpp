// The master file of a run: each variable as one array over all files and steps, made of virtual datasets.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: global_view.hpp says what is where. After it: xarray, h5py, h5dump. docs/file-format.md lists what is in it.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <memory>

#include "../file/hdf5_file.hpp"
#include "core/base/output_file.hpp"
#include "global_view.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// Writes <stem>.h5 aside and puts it in place of the one before: at every moment the name leads to a whole file. Opens none of the
// files it points to; it names them without folder, so that the folder can be moved. It has no links into them: netCDF-C would follow
// each when it opens the file, and opens nothing where one leads nowhere.
class MasterWriter {
 public:
  // `complete`: the run has ended, and nothing of it is left out. All of it must outlive this object, unchanged. Throws Failure, as all
  // below; then, and when it goes before all is written, no file stays behind.
  MasterWriter(const ViewPlace& place, const GlobalView& view, const ViewNames& names, const Steps& steps, const dc_host_t& host,
               bool complete);
  ~MasterWriter();
  MasterWriter(const MasterWriter&) = delete;
  MasterWriter& operator=(const MasterWriter&) = delete;

  // An array, or something of that size. Returns whether there is more; the last piece puts the file in place.
  bool write_piece();

 private:
  class Content;
  const ViewPlace& place_;
  const GlobalView& view_;
  OutputFile output_;
  Hdf5File file_;
  std::unique_ptr<Content> content_;
  std::size_t next_ = 0;  // piece: the scales, each array, the end
};

}  // namespace damaris::hdf5
