#include "write/configuration.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::bench {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * 1024;

SizeCase size_case(std::uint64_t bytes) {
  const auto writes = static_cast<int>(std::clamp<std::uint64_t>(64 * kKiB / bytes, 1, 64));
  return {bytes, writes, bytes < kMiB ? 5 : 1};
}

std::vector<SizeCase> cases(std::initializer_list<std::uint64_t> sizes) {
  std::vector<SizeCase> result;
  for (const std::uint64_t bytes : sizes) result.push_back(size_case(bytes));
  return result;
}

}  // namespace

WritePlan WritePlan::idle(bool quick) {
  if (quick) return {cases({64, 4 * kKiB, kMiB}), 32 * kMiB, 5, 1};
  return {cases({8, 64, 512, 4 * kKiB, 32 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB}), 256 * kMiB, 120, 10};
}

WritePlan WritePlan::busy(bool quick) {
  if (quick) return {{{kMiB, 4, 1}}, 32 * kMiB, 3, 1};
  return {{{kMiB, 16, 1}}, 128 * kMiB, 60, 5};
}

std::string variable_name(std::uint64_t bytes, int index) { return format("b{}_{}", bytes, index); }

std::string configuration(const WritePlan& plan, const std::string& storage) {
  std::string data;
  for (const SizeCase& size : plan.sizes) {
    data += format("    <layout name=\"b{0}\" type=\"uint8\" dimensions=\"{0}\"/>\n", size.bytes);
    for (int i = 0; i < size.writes; ++i)
      data += format("    <variable name=\"{}\" layout=\"b{}\"/>\n", variable_name(size.bytes, i), size.bytes);
  }
  return format(
      "<simulation name=\"bench\">\n"
      "  <architecture><server start=\"manual\"/><buffer size=\"{}\" timeout=\"60s\"/></architecture>\n"
      "  <data>\n{}  </data>\n{}</simulation>\n",
      plan.buffer_bytes, data, storage.empty() ? "" : format("  <storage>{}</storage>\n", storage));
}

}  // namespace damaris::bench
