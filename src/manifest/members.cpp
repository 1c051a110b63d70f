#include "members.hpp"

#include <sys/stat.h>
#include <damaris/error.hpp>

#include <algorithm>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "sealed_line.hpp"
#include "server_entry.hpp"

namespace damaris::manifest {
namespace {

// Most lines are about steps, and too long to be parsed for this.
}  // namespace

std::size_t Members::count() {
  read_on();
  return std::max<std::size_t>(joined_.size() - ended_.size(), 1);
}

std::size_t Members::recent_count() {
  constexpr auto kLookEvery = std::chrono::seconds(30);
  if (counted_ == 0 || Clock::now() >= counted_at_ + kLookEvery) {
    counted_ = count();
    counted_at_ = Clock::now();
  }
  return counted_;
}

bool Members::has(const std::string& host, int server) {
  read_on();
  return joined_.count({host, server}) > 0;
}

bool Members::file_was_replaced() {
  struct stat now = {};
  if (::stat(path_.c_str(), &now) != 0) return false;
  const bool same = now.st_dev == device_ && now.st_ino == inode_ && static_cast<std::uint64_t>(now.st_size) >= offset_;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  return !same;
}

void Members::read_on() try {
  if (file_was_replaced()) {
    offset_ = 0;
    joined_.clear();
    ended_.clear();
  }
  for_whole_lines(path_, offset_, [&](const std::string& line) {
    take(line);
    offset_ += line.size() + 1;
    return true;
  });
} catch (const Failure&) {
  // Keep the known members: callers that need the manifest itself report the error.
}

void Members::take(const std::string& line) try {
  const bool is_run = begins_run(line);
  if (is_run) {
    joined_.clear();
    ended_.clear();
  }
  if (!is_run && !begins_with(line, "{\"joined\":") && !begins_with(line, "{\"ended\":")) return;
  const Json json = Json::parse(is_trustworthy(line) ? line : "");
  if (is_run) {
    const RunEntry run = run_from_json(json);
    if (run.apart) joined_.insert({run.host, run.first_server});
    return;
  }
  const ServerEntry entry = server_entry_from_json(json).value();
  const std::pair<std::string, int> name = {entry.host, entry.server};
  const bool has_ended = entry.what == ServerEntry::What::ended;
  joined_.insert(name);
  has_ended ? void(ended_.insert(name)) : void(ended_.erase(name));
} catch (const Json::exception&) {
  // A damaged line has no effect.
} catch (const Error&) {
}

}  // namespace damaris::manifest
