#include "file_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

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

std::string FileNames::temporary_path(std::int64_t iteration) const {
  return folder_ + "/." + final_name(iteration) + kTemporary + std::to_string(::getpid());
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

}  // namespace damaris::manifest
