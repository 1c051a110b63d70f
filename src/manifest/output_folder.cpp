#include "output_folder.hpp"

#include <damaris/error.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "codec/checksum.hpp"
#include "core/base/failure.hpp"
#include "core/base/output_file.hpp"
#include "core/base/own_file.hpp"

namespace damaris::manifest {
namespace {

constexpr char kTemporary[] = ".tmp.";

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

FileNames::FileNames(const std::string& basename, const std::string& part) {
  const std::filesystem::path path = std::filesystem::absolute(basename).lexically_normal();
  folder_ = path.parent_path().string();
  stem_ = path.filename().string();
  prefix_ = stem_ + part + ".i";
}

std::string FileNames::temporary_path(std::int64_t step) const {
  return folder_ + "/." + final_name(step) + kTemporary + std::to_string(::getpid());
}

bool FileNames::is_final_name(const std::string& name) const {
  const std::string suffix = ".h5";
  if (name.size() <= prefix_.size() + suffix.size() || name.compare(0, prefix_.size(), prefix_) != 0) return false;
  const std::size_t end = name.size() - suffix.size();
  return name.substr(end) == suffix && is_number(name.substr(prefix_.size(), end - prefix_.size()));
}

bool FileNames::is_of_run(const std::string& name) const {
  const std::string start = stem_ + ".", suffix = ".h5";
  const std::size_t mark = name.rfind(".i");
  if (mark == std::string::npos || mark + 1 < start.size() || name.compare(0, start.size(), start) != 0) return false;
  const std::size_t number = mark + 2, end = name.size() - suffix.size();
  return end > number && name.substr(end) == suffix && is_number(name.substr(number, end - number));
}

int FileNames::owner_of_temporary(const std::string& name) const {
  const std::size_t mark = name.rfind(kTemporary);
  if (mark == std::string::npos || name.front() != '.' || !is_final_name(name.substr(1, mark - 1))) return 0;
  const std::size_t begin = mark + sizeof kTemporary - 1;
  const std::string pid = name.substr(begin, name.find('.', begin) - begin);
  return is_number(pid) && pid.size() < 10 ? std::stoi(pid) : 0;
}

namespace {

std::string remedy_for(int error, const std::string& folder) {
  switch (error) {
    case ENOENT:
      return "create it with: mkdir -p '" + folder + "'";
    case ENOTDIR:
      return "a part of this path is a file; choose another basename";
    case ENOSPC:
    case EDQUOT:
      return "free space there or choose another basename";
    case ENAMETOOLONG:
      return "choose a shorter basename";
    case EFBIG:
      return "raise the limit (ulimit -f)";
    case EMFILE:
      return "raise the limit (ulimit -n)";
    case ENFILE:
    case ENOMEM:
      return "start again when the system has more to spare";
    case EROFS:
      return "mount it for writing or choose another basename";
    default:
      return "make it writable or choose another basename";
  }
}

// A folder that is not there, or that this user may only write to, shows none.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator next(folder, error), end; !error && next != end; next.increment(error))
    names.push_back(next->path().filename().string());
  const int number = error.value();
  if (number != 0 && number != ENOENT && number != ENOTDIR && number != EACCES) throw_system_failure(number, "look into", folder);
  return names;
}

}  // namespace

bool is_dead(int process) {
  if (::kill(process, 0) != 0) return errno == ESRCH;
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && (text.compare(name_end + 2, 1, "Z") == 0 || text.compare(name_end + 2, 1, "X") == 0);
}

void check_can_write(const FileNames& names) {
  // The longest possible name, so that a name that is too long is detected now.
  const std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  try {
    OutputFile probe(names.temporary_path(longest), names.final_path(longest));
    probe.append(std::string(4096, '\0'));
    probe.sync();
  } catch (const Failure& failure) {
    throw Error(DC_E_NO_OUTPUT, "the output folder '" + names.folder() +
                                    "' cannot be used: " + text_of_errno(failure.system_error()) + "; " +
                                    remedy_for(failure.system_error(), names.folder()));
  }
}

int remove_leftovers(const FileNames& names) {
  int removed = 0;
  for (const std::string& name : names_in(names.folder())) {
    const int owner = names.owner_of_temporary(name);
    if (owner > 0 && is_dead(owner) && ::unlink((names.folder() + "/" + name).c_str()) == 0) ++removed;
  }
  return removed;
}

std::vector<std::string> files_of_earlier_run(const FileNames& names) {
  std::vector<std::string> found;
  for (const std::string& name : names_in(names.folder()))
    if (names.is_final_name(name)) found.push_back(name);
  std::sort(found.begin(), found.end());
  return found;
}

namespace {

constexpr std::string_view kGeneration = ".g", kServer = ".s", kEnding = ".jsonl";

// The whole text as an unsigned number; nullopt if it is not one.
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

std::set<std::string> stems_in(const std::string& folder) {
  std::set<std::string> stems;
  for (const std::string& name : names_in(folder))
    for (std::size_t mark = name.rfind(kGeneration); mark != std::string::npos && mark > 0;
         mark = name.rfind(kGeneration, mark - 1))
      if (std::string stem = name.substr(0, mark); log_name_from(name, stem)) {
        stems.insert(std::move(stem));
        break;
      }
  return stems;
}

std::vector<LogName> find_logs(const std::string& folder, const std::string& stem, bool only_own) {
  std::vector<LogName> own, others;
  for (const std::string& name : names_in(folder)) {
    struct stat info = {};
    const auto is_own = [&] {
      return ::lstat((folder + "/" + name).c_str(), &info) == 0 && info.st_uid == ::geteuid() && S_ISREG(info.st_mode);
    };
    if (auto log = log_name_from(name, stem)) (is_own() ? own : others).push_back(std::move(*log));
  }
  std::vector<LogName>& found = own.empty() && !only_own ? others : own;
  std::sort(found.begin(), found.end());
  return std::move(found);
}

namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20;

}  // namespace

FileSum sum_of_file(const std::string& path, std::uint64_t begin, std::uint64_t end,
                    const std::function<void(std::uint64_t)>& progress) {
  const StoredFileReader file(path);
  require_open(file, path);
  std::vector<char> buffer(kReadBytes);
  FileSum sum;
  while (begin + sum.bytes < end) {
    const std::uint64_t at = begin + sum.bytes;
    const auto wanted = static_cast<std::size_t>(std::min(kReadBytes, end - at));
    const std::ptrdiff_t got = file.read(buffer.data(), wanted, at);
    if (got < 0) throw_system_failure(errno, "read", path);
    if (got == 0) break;
    sum.checksum = codec::crc32(buffer.data(), static_cast<std::size_t>(got), sum.checksum);
    sum.bytes += static_cast<std::uint64_t>(got);
    if (progress) progress(sum.bytes);
  }
  return sum;
}

}  // namespace damaris::manifest
