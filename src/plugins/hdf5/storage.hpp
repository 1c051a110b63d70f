// The storage of one server: a file for each iteration that has data.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: plugin.cpp, the edge to the server. After it: the writer of datasets and the output file.
#pragma once

#include <damaris/plugin.h>

#include "dataset_writer.hpp"
#include "file_names.hpp"
#include "settings.hpp"

namespace damaris::hdf5 {

class Storage {
 public:
  // Checks all that can be checked before the run: settings, types, names, the folder. Throws damaris::Error.
  explicit Storage(const dc_host_t& host);

  // Returns when the iteration is durable under its final name and told to the host; without datasets there is no file. Throws
  // damaris::Error and leaves no file behind.
  void store(const dc_iteration_t& iteration);

 private:
  void write_file(const dc_iteration_t& iteration);

  const dc_host_t& host_;
  Settings settings_;
  FileNames names_;
  DatasetWriter writer_;
};

}  // namespace damaris::hdf5
