// An output file as HDF5 sees it: HDF5 writes it through a virtual file driver to a WriteTarget.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: output_file.hpp, which created the file. After it: new_dataset.hpp, dataset_writer.hpp; write_target.hpp.
#pragma once

#include <string>

#include "handle.hpp"
#include "write_target.hpp"

namespace damaris::hdf5 {

// The file has the ordinary format: any driver can open it.
class Hdf5File {
 public:
  enum class Mode { create, open };
  // `descriptor`: a file open for reading and writing, empty for Mode::create. `path`: its name for messages.
  Hdf5File(int descriptor, const std::string& path, Mode mode = Mode::create);

  hid_t id() const { return file_.id(); }
  // Property lists shared by all datasets: creating them costs as much as writing some attributes.
  const Properties& links() const { return links_; }
  const Properties& contiguous() const { return contiguous_; }
  // The bytes of the file, for raw data that bypasses HDF5.
  WriteTarget& target() { return target_; }
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  // Throws Failure if a write has failed; HDF5 itself does not notice (WriteTarget).
  void check() const;
  // Writes what HDF5 still caches, and closes the file.
  void close();
  // CRC-32 of the closed file. Throws Failure.
  std::uint32_t checksum();

 private:
  std::string path_;
  WriteTarget target_;
  File file_;
  Properties links_, contiguous_;
};

}  // namespace damaris::hdf5
