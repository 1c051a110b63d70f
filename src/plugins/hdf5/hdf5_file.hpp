// The HDF5 side of one output file: opened in a file that exists, closed with every error seen.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: output_file.hpp made the file. After it: dataset_writer.hpp, labels.hpp.
#pragma once

#include <string>

#include "handle.hpp"

namespace damaris::hdf5 {

class Hdf5File {
 public:
  explicit Hdf5File(const std::string& path);
  // Without close() before, the content is given up: nothing more is written to the storage.
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  hid_t id() const { return file_.id(); }
  // Writes all that HDF5 still holds.
  void close();

 private:
  void give_up();

  std::string path_;
  File file_;
  bool open_ = true;
};

}  // namespace damaris::hdf5
