#include "output_folder.hpp"

#include <damaris/error.hpp>

#include <unistd.h>

#include <signal.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/failure.hpp"
#include "core/base/output_file.hpp"

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

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code unreadable;  // the folder may be writable but not readable
  for (std::filesystem::directory_iterator next(folder, unreadable), end; !unreadable && next != end; next.increment(unreadable))
    names.push_back(next->path().filename().string());
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

}  // namespace damaris::manifest
