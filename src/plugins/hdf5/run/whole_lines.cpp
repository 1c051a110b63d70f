#include "whole_lines.hpp"

#include <cerrno>
#include <cstring>

#include "../system_failure.hpp"
#include "core/base/own_file.hpp"

namespace damaris::hdf5 {

bool for_whole_lines(const std::string& path, std::uint64_t from, const std::function<bool(std::string& line)>& take) {
  const auto fail = [&path](int error) { throw Failure("cannot read " + path + ": " + std::strerror(error), error); };
  errno = 0;
  std::ifstream file = open_to_read(path);
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!file) fail(errno);
  file.seekg(static_cast<std::streamoff>(from));
  errno = 0;
  for (std::string line; std::getline(file, line) && !file.eof();)
    if (!take(line)) return true;
  if (file.bad()) fail(errno != 0 ? errno : EIO);
  return true;
}

}  // namespace damaris::hdf5
