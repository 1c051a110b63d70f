// A descriptor that was closed behind its owner's back, and whose number now belongs to another file.
// Used by: tests of files that stay open between two calls.
// Before it: a file that this process has open. After it: what its owner did to the other file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace damaris::test {

// As a program does it that closes descriptors which it did not open, and then opens a file of its own, `path`. Closes it at the end.
class TakenDescriptor {
 public:
  static constexpr const char* kText = "not yours";

  // `part`: of the path of the file whose descriptor is taken.
  TakenDescriptor(const std::string& part, std::string path) : path_(std::move(path)), number_(descriptor_of(part)) {
    std::ofstream(path_) << kText;
    const int other = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    ::dup2(other, number_);
    ::close(other);
  }
  ~TakenDescriptor() {
    if (is_open()) ::close(number_);
  }
  TakenDescriptor(const TakenDescriptor&) = delete;
  TakenDescriptor& operator=(const TakenDescriptor&) = delete;

  // The number still belongs to the other file.
  bool is_open() const {
    struct stat here = {}, there = {};
    return ::fstat(number_, &here) == 0 && ::stat(path_.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
  }
  // What is in the other file.
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  static int descriptor_of(const std::string& part) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry.path(), gone).string().find(part) != std::string::npos)
        return std::stoi(entry.path().filename().string());
    }
    throw std::runtime_error("no open file with " + part);
  }

  std::string path_;
  int number_;
};

}  // namespace damaris::test
