#include "phases/durable.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/base/error.hpp"

namespace damaris::bench {
namespace {

// Whatever wrote the pages of a file: they belong to it, and any descriptor syncs them all.
void sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = file >= 0 && ::fsync(file) == 0 ? 0 : errno;
  if (file >= 0) ::close(file);
  if (error != 0) throw system_error(DC_E_IO, "cannot sync " + path, error, "look at the room in --folder, and at its disk");
}

}  // namespace

void make_durable(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return sync_file(path);
  for (const auto& entry : std::filesystem::directory_iterator(path)) sync_file(entry.path());
}

}  // namespace damaris::bench
