// Creates the temporary file of a step as <hdf5> asks for it, and describes that for the manifest.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: stripe-count, stripe-size and alignment of <hdf5>. After it: step_file.hpp, shared/shared_files.hpp.
#pragma once

#include <damaris/plugin.h>

#include <memory>
#include <string>
#include <utility>

#include "../file/hdf5_file.hpp"
#include "../file/striping.hpp"
#include "core/base/output_file.hpp"

namespace damaris::hdf5 {

class NewFiles {
 public:
  // `folder`: of all files. Warns if striping is asked for and impossible there.
  NewFiles(const dc_host_t& host, const std::string& folder, const Striping& striping, std::uint64_t alignment);

  // Throws Failure. A file that cannot be striped as asked is striped as the folder says, with one warning.
  std::unique_ptr<OutputFile> create(const std::string& temporary_path, const std::string& final_path);
  // At what multiples large datasets begin.
  std::uint64_t alignment() const { return alignment_; }

 private:
  void warn(const std::string& why);

  const dc_host_t& host_;
  Striping striping_;
  std::uint64_t alignment_;
  int flags_ = 0;
  bool has_warned_ = false;
};

}  // namespace damaris::hdf5
