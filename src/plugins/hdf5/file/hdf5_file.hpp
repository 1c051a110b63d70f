// The HDF5 side of one output file: HDF5 writes it by a virtual file driver over a WriteTarget.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: output_file.hpp made the file. After it: dataset_writer.hpp, labels.hpp; write_target.hpp.
#pragma once

#include <string>

#include "handle.hpp"
#include "write_target.hpp"

namespace damaris::hdf5 {

// Makes files opened with these access properties write to `target`, which must outlive them. The file itself has the ordinary
// format: any driver opens it.
void use_target(const Properties& access, WriteTarget& target);

class Hdf5File {
 public:
  enum class Mode { create, open };
  // `descriptor` is of a file open for reading and writing, to create: an empty one; `path` is its name for messages.
  Hdf5File(int descriptor, const std::string& path, Mode mode = Mode::create);

  hid_t id() const { return file_.id(); }
  // Property lists that all datasets share: to make them anew costs as much as some attributes.
  const Properties& links() const { return links_; }
  const Properties& contiguous() const { return contiguous_; }
  // The bytes behind the file, for raw data that goes there without HDF5.
  WriteTarget& target() { return target_; }
  // Throws Failure when the storage has failed; HDF5 itself does not see it (WriteTarget).
  void check() const;
  // Writes all that HDF5 still holds.
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
