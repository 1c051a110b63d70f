#include "log_names.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/base/failure.hpp"

namespace damaris::manifest {
namespace {

constexpr std::string_view kGeneration = ".g", kServer = ".s", kEnding = ".jsonl";

// The whole text as a number without sign; nothing if it is none.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.front() == '-') return std::nullopt;
  return value;
}

}  // namespace

std::string LogName::of(const std::string& stem) const {
  return stem + std::string(kGeneration) + std::to_string(generation) + "." + host + std::string(kServer) + std::to_string(server) +
         std::string(kEnding);
}

std::optional<LogName> log_name_from(const std::string& name, const std::string& stem) {
  std::string_view rest = name;
  const auto drop = [&](std::string_view part) {
    if (rest.substr(0, part.size()) != part) return false;
    rest.remove_prefix(part.size());
    return true;
  };
  if (!drop(stem) || !drop(kGeneration) || rest.size() < kEnding.size() || rest.substr(rest.size() - kEnding.size()) != kEnding)
    return std::nullopt;
  rest.remove_suffix(kEnding.size());
  const std::size_t dot = rest.find('.'), mark = rest.rfind(kServer);
  if (dot == std::string_view::npos || mark == std::string_view::npos || mark <= dot) return std::nullopt;
  const std::string_view host = rest.substr(dot + 1, mark - dot - 1);
  const auto generation = number_in<std::int64_t>(rest.substr(0, dot));
  const auto server = number_in<int>(rest.substr(mark + kServer.size()));
  if (!generation || !server || host.empty() || host.find('.') != std::string_view::npos) return std::nullopt;
  return LogName{*generation, std::string(host), *server};
}

namespace {

// A folder that is not there, or that this user may only write to, shows none.
template <class Each>
void for_each_name(const std::string& folder, Each&& each) {
  std::error_code error;
  for (std::filesystem::directory_iterator next(folder, error), end; !error && next != end; next.increment(error))
    each(next->path().filename().string());
  const int number = error.value();
  if (number != 0 && number != ENOENT && number != ENOTDIR && number != EACCES) throw_system_failure(number, "look into", folder);
}

}  // namespace

std::set<std::string> stems_in(const std::string& folder) {
  std::set<std::string> stems;
  for_each_name(folder, [&](const std::string& name) {
    for (std::size_t mark = name.rfind(kGeneration); mark != std::string::npos && mark > 0;
         mark = name.rfind(kGeneration, mark - 1))
      if (std::string stem = name.substr(0, mark); log_name_from(name, stem)) return void(stems.insert(std::move(stem)));
  });
  return stems;
}

std::vector<LogName> find_logs(const std::string& folder, const std::string& stem, bool only_own) {
  std::vector<LogName> own, others;
  for_each_name(folder, [&](const std::string& name) {
    struct stat info = {};
    const auto is_own = [&] {
      return ::lstat((folder + "/" + name).c_str(), &info) == 0 && info.st_uid == ::geteuid() && S_ISREG(info.st_mode);
    };
    if (auto log = log_name_from(name, stem)) (is_own() ? own : others).push_back(std::move(*log));
  });
  std::vector<LogName>& found = own.empty() && !only_own ? others : own;
  std::sort(found.begin(), found.end());
  return std::move(found);
}

}  // namespace damaris::manifest
