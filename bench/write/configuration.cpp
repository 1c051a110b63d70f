#include "write/configuration.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace damaris::bench {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * 1024;

SizeCase size_case(std::uint64_t bytes) {
  const auto writes = static_cast<int>(std::clamp<std::uint64_t>(64 * kKiB / bytes, 1, 64));
  return {bytes, writes, bytes < kMiB ? 5 : 1, bytes > 64 * kMiB ? 2 : 1, writes};
}

std::vector<SizeCase> cases(std::initializer_list<std::uint64_t> sizes) {
  std::vector<SizeCase> result;
  for (const std::uint64_t bytes : sizes) result.push_back(size_case(bytes));
  return result;
}

}  // namespace

WritePlan WritePlan::idle(bool quick) {
  if (quick) return {cases({64, 4 * kKiB, kMiB}), 32 * kMiB, 5, 1};
  return {cases({8, 64, 512, 4 * kKiB, 32 * kKiB, 256 * kKiB, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB}), 272 * kMiB, 120,
          10};
}

WritePlan WritePlan::classic(bool quick) {
  if (quick) return {cases({64, 4 * kKiB, kMiB}), 32 * kMiB, 5, 1};
  return {cases({8, 64, 512, 4 * kKiB, 32 * kKiB, 256 * kKiB, kMiB}), 128 * kMiB, 120, 10};
}

WritePlan WritePlan::busy(bool quick) {
  if (quick) return {{{kMiB, 4, 1, 1, 4}}, 32 * kMiB, 3, 1};
  return {{{kMiB, 16, 1, 1, 16}}, 128 * kMiB, 60, 5};
}

WritePlan WritePlan::busy_large(bool quick) {
  if (quick) return {{{16 * kMiB, 2, 1, 1, 1}}, 80 * kMiB, 3, 1};
  return {{{16 * kMiB, 4, 1, 1, 1}}, 144 * kMiB, 60, 5};
}

WritePlan WritePlan::several(bool quick, int clients) {
  return {cases({64, kMiB}), static_cast<std::uint64_t>(clients) * share_bytes(quick, clients), quick ? 5 : 120, quick ? 1 : 10};
}

std::uint64_t circle_bytes(bool quick) { return (quick ? 32 : 256) * kMiB; }

std::uint64_t share_bytes(bool quick, int clients) {
  return std::max(circle_bytes(quick) / static_cast<std::uint64_t>(clients) / kMiB, std::uint64_t{4}) * kMiB;
}

std::string variable_name(std::uint64_t bytes, int index) { return format("b{}_{}", bytes, index); }

std::string configuration(const WritePlan& plan, const std::string& storage) {
  std::string data;
  for (const SizeCase& size : plan.sizes) {
    data += format("    <layout name=\"b{0}\" type=\"uint8\" dimensions=\"{0}\"/>\n", size.bytes);
    for (int i = 0; i < size.writes; ++i)
      data += format("    <variable name=\"{}\" layout=\"b{}\"{}/>\n", variable_name(size.bytes, i), size.bytes,
                     i < size.stored ? "" : " store=\"false\"");
  }
  return format(
      "<simulation name=\"bench\">\n"
      "  <architecture><server start=\"manual\"/><buffer size=\"{}\" timeout=\"60s\"/></architecture>\n"
      "  <data>\n{}  </data>\n{}</simulation>\n",
      plan.buffer_bytes, data, storage.empty() ? "" : format("  <storage>{}</storage>\n", storage));
}

}  // namespace damaris::bench
