#include "core/base/file_facts.hpp"

#include <sys/stat.h>

#include <exception>

#include "core/base/answer_about.hpp"

namespace damaris {
namespace {

FileFacts facts_of(const std::string& path) {
  struct stat link = {}, file = {};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &file) != 0) return {};
  return {true, S_ISREG(file.st_mode), static_cast<std::uint64_t>(file.st_size), link.st_uid};
}

}  // namespace

std::optional<FileFacts> facts_within(const std::string& path, std::int64_t timeout_ms) try {
  return answer_about(path, timeout_ms, [path] { return facts_of(path); });
} catch (const std::exception&) {  // no thread, or no memory for it
  return std::nullopt;
}

}  // namespace damaris
