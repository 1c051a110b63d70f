#include "core/base/file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace damaris {
namespace {

constexpr std::size_t kLargestFile = 64u << 20;

struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(DC_E_CONFIG, format("cannot read the configuration '{}': {}", path, why));
}

// Names the folder that was searched, and a file with a similar name.
std::string missing_hint(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path given(path);
  const fs::path folder = given.has_parent_path() ? given.parent_path() : fs::path(".");
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    if (it->path().extension() == ".xml") names.push_back(it->path().filename().string());
  const std::string name = nearest_name(given.filename().string(), names);
  std::string hint = given.is_relative() ? format(" (working directory: '{}')", fs::current_path(ignored).string()) : "";
  if (!name.empty()) hint += format("; did you mean '{}'?", (given.parent_path() / name).string());
  return hint;
}

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::vector<char> chunk(1u << 16);
  for (;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, std::generic_category().message(errno));
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kLargestFile) refuse(path, "it is larger than 64 MiB, the most a configuration may have");
  }
}

// The kernel reports an absolute path; the dynamic linker's may be relative to the working folder at load time.
std::string mapped_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const std::size_t path = line.find('/');
    if (path == std::string::npos || std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) != 2) continue;
    if (wanted >= begin && wanted < end) return line.substr(path);
  }
  return "";
}

}  // namespace

std::string read_config_file(const std::string& path) {
  if (path.empty()) throw Error(DC_E_CONFIG, "no configuration file was named (the path is empty)");
  // O_NONBLOCK: a named pipe without a writer must not hang the start of a job.
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    const int reason = errno;
    refuse(path, std::generic_category().message(reason) + (reason == ENOENT ? missing_hint(path) : ""));
  }
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) refuse(path, std::generic_category().message(errno));
  if (S_ISDIR(info.st_mode)) refuse(path, "it is a folder; name the XML file in it");
  if (!S_ISREG(info.st_mode)) refuse(path, "it is not a regular file");
  std::string text = read_all(file.fd, path);
  if (text.empty()) refuse(path, "it is empty; a configuration holds one <simulation> element");
  return text;
}

std::string absolute_path(const std::string& path) {
  std::error_code unresolved;
  const std::filesystem::path absolute = std::filesystem::absolute(path, unresolved);
  return unresolved ? path : absolute.lexically_normal().string();
}

std::uint64_t digest(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::uint64_t place_digest(const std::string& path) {
  std::error_code unreadable;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, unreadable);
  return digest(unreadable ? path : canonical.string());
}

std::string library_folder() {
  const void* here = reinterpret_cast<const void*>(&library_folder);
  Dl_info info = {};
  if (::dladdr(here, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname[0] == '/' ? info.dli_fname : mapped_at(here);
  return std::filesystem::path(path).lexically_normal().parent_path().string();
}

}  // namespace damaris
