#include "tools/replay/sums.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "tools/command_line.hpp"

namespace damaris::replay {

const char* word_of(Kind kind) {
  static constexpr std::array<const char*, kLetters.size()> words = {
      "compute", "open",    "read",    "write",   "sync",       "stat",       "truncate",   "unlink", "close",
      "send",    "receive", "awaited", "barrier", "all to all", "one to all", "all to one", "scan"};
  return words[static_cast<std::size_t>(kind)];
}

KindSums sums_of(const Plan& plan, const Times& times, const std::vector<std::uint64_t>* io_ns) {
  KindSums sums;
  for (std::uint32_t i = 0; i < plan.operations.size(); ++i) {
    const Operation& one = plan.operations[i];
    KindSum& sum = sums[static_cast<std::size_t>(one.kind)];
    ++sum.operations;
    sum.bytes += one.kind == Kind::truncate ? 0 : one.bytes;
    sum.ns += io_ns != nullptr && is_io(one.kind) ? (*io_ns)[i] : one.ns;
    sum.wait_ns += times.waits[i];
  }
  return sums;
}

std::string seconds_text(double value) {
  if (value == 0) return "0";
  return std::abs(value) < 0.01 ? format("{:.6f}", value) : format("{:.3f}", value);
}

std::string percent_text(double value, double of) { return of > 0 ? format("{:+.1f} %", 100 * (value - of) / of) : ""; }

std::uint64_t quantile(std::vector<std::uint64_t>& values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void check_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw tools::WrongUsage(format("there is no folder '{}' for '{}'", folder.string(), path));
}

void write_json(const std::string& path, const Json& json) {
  const std::string text = text_of(json, 1) + "\n";
  std::FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr && file != stdout) is_written = std::fclose(file) == 0 && is_written;
  if (!is_written) throw Error(DC_E_IO, format("cannot write '{}': {}; name another file", path, text_of_errno(errno)));
}

}  // namespace damaris::replay
