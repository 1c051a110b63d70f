// A folder of its own for one benchmark's configuration and output, removed with all it holds.
// Used by: the write benchmark, one thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.hpp"

namespace damaris::bench {

class Folder {
 public:
  // Below `parent`; "" takes the system's folder for temporary files. Throws Error(DC_E_NO_OUTPUT).
  explicit Folder(const std::string& parent) {
    const std::filesystem::path base = parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::absolute(parent);
    std::string pattern = (base / "damaris-bench.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw system_error(DC_E_NO_OUTPUT, "cannot make a folder in " + base.string(), errno,
                         "give --folder one that can be written");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace damaris::bench
