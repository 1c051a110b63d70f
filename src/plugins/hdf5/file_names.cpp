#include "file_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace damaris::hdf5 {

FileNames::FileNames(const std::string& basename, const std::string& host, int server) {
  const std::filesystem::path path = std::filesystem::absolute(basename).lexically_normal();
  folder_ = path.parent_path().string();
  prefix_ = path.filename().string() + "." + host + ".s" + std::to_string(server) + ".i";
}

std::string FileNames::temporary_path(std::int64_t iteration) const {
  return folder_ + "/." + final_name(iteration) + ".tmp." + std::to_string(::getpid());
}

bool FileNames::is_final_name(const std::string& name) const {
  const std::string suffix = ".h5";
  if (name.size() <= prefix_.size() + suffix.size() || name.compare(0, prefix_.size(), prefix_) != 0 ||
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
    return false;
  const auto begin = name.begin() + static_cast<std::ptrdiff_t>(prefix_.size());
  return std::all_of(begin, name.end() - 3, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace damaris::hdf5
