#include "new_file.hpp"

#include <cstring>

namespace damaris::hdf5 {

NewFiles::NewFiles(const dc_host_t& host, const std::string& folder, const Striping& striping, std::uint64_t alignment)
    : host_(host), striping_(striping), alignment_(alignment), flags_(open_flags_for(striping, folder)) {
  if (striping.is_asked() && flags_ == 0)
    warn("stripe-count and stripe-size have no effect: '" + folder + "' is in no Lustre file system");
}

std::unique_ptr<OutputFile> NewFiles::create(const std::string& temporary_path, const std::string& final_path) {
  auto output = std::make_unique<OutputFile>(temporary_path, final_path, flags_);
  if (flags_ == 0) return output;
  if (const int error = stripe(output->descriptor(), striping_); error != 0)
    warn("cannot stripe " + output->temporary_path() + " as stripe-count and stripe-size say: " + std::strerror(error) +
         "; files get the stripes of the folder: give no more stripes than there are targets (lfs df)");
  return output;
}

// Once: it is so for each file.
void NewFiles::warn(const std::string& why) {
  if (!std::exchange(has_warned_, true)) host_.log(host_.self, 1, ("hdf5: " + why).c_str());
}

}  // namespace damaris::hdf5
