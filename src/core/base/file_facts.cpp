#include "core/base/file_facts.hpp"

#include <sys/stat.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "core/base/process_guard.hpp"

namespace damaris {
namespace {

FileFacts facts_of(const std::string& path) {
  struct stat link = {}, file = {};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &file) != 0) return {};
  return {true, S_ISREG(file.st_mode), static_cast<std::uint64_t>(file.st_size), link.st_uid};
}

}  // namespace

std::optional<FileFacts> facts_within(const std::string& path, std::int64_t timeout_ms) try {
  const auto look = std::make_shared<std::packaged_task<FileFacts()>>([path] { return facts_of(path); });
  std::future<FileFacts> facts = look->get_future();
  std::thread([look] {
    block_signals();
    (*look)();
  }).detach();
  if (facts.wait_for(std::chrono::milliseconds(timeout_ms)) != std::future_status::ready) return std::nullopt;
  return facts.get();
} catch (const std::exception&) {  // no thread, or no memory for it
  return std::nullopt;
}

}  // namespace damaris
