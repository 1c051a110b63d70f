// A file that shows arrays and has no values: its datasets are virtual and refer to other files. Of one step, of a span of steps, or of all.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: view_levels.hpp says what it shows. After it: xarray, h5py, h5dump, netCDF. docs/file-format.md describes its contents.
#pragma once

#include <damaris/plugin.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "../file/hdf5_file.hpp"
#include "core/base/output_file.hpp"
#include "global_view.hpp"
#include "view_place.hpp"
#include "virtual_array.hpp"

namespace damaris::hdf5 {

struct ViewContent {
  std::string suffix;  // of the name, after the stem of the basename
  GlobalView view;
  std::function<VirtualBlocks(const GlobalArray&)> blocks;  // of an array in time
  std::function<VirtualBlocks(const GlobalArray&)>
      coordinate_blocks;                  // of a coordinate, which has no time; may be empty without any
  std::function<void(hid_t file)> label;  // writes the attributes of the root
  bool has_scales = true;                 // named dimensions, attributes of arrays
};

// Writes the file to a temporary one and renames it into place, so that the name always refers to a complete file. Does not open the files
// it refers to; it names them without folder, so that the folder can be moved. It has no external links: netCDF-C would follow each when
// it opens the file, and fail at a dangling one.
class ViewWriter {
 public:
  // `place` and `host` must outlive this object. All functions throw Failure. After a failure, or if this object is destroyed before all is
  // written, no file is left.
  ViewWriter(const ViewPlace& place, ViewContent&& content, const dc_host_t& host);
  ~ViewWriter();
  ViewWriter(const ViewWriter&) = delete;
  ViewWriter& operator=(const ViewWriter&) = delete;

  // Writes an array, or something of comparable cost. Returns whether there is more; the last piece puts the file in place.
  bool write_piece();

  const GlobalView& view() const { return content_.view; }
  const ViewNames& names() const { return names_; }

 private:
  class Arrays;
  const ViewPlace& place_;
  ViewContent content_;
  ViewNames names_;
  OutputFile output_;
  Hdf5File file_;
  std::unique_ptr<Arrays> arrays_;
  std::size_t next_ = 0;  // the next piece: the scales, each array, the end
};

}  // namespace damaris::hdf5
