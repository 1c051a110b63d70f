#include "reduce/checksums.hpp"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "codec/checksum.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "stopwatch.hpp"

namespace damaris::bench {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 20;
constexpr std::array<std::size_t, 3> kSizes = {std::size_t{64} << 10, std::size_t{1} << 20, kMost};
constexpr std::array<const char*, 3> kNames = {"ours", "libdeflate", "zlib"};

std::uint32_t checksum(std::size_t by, const unsigned char* data, std::size_t bytes) {
  if (by == 0) return codec::crc32(data, bytes);
  if (by == 1) return libdeflate_crc32(0, data, bytes);
  return static_cast<std::uint32_t>(::crc32_z(0, data, bytes));
}

// ns of processor time for kMost bytes, `bytes` at a time, by each in turn.
std::array<double, 3> one_round(const std::vector<unsigned char>& data, std::size_t bytes, std::mt19937& random) {
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::shuffle(order.begin(), order.end(), random);
  std::array<double, 3> cpu_ns = {};
  std::array<std::uint32_t, 3> found = {};
  for (const std::size_t by : order) {
    const double begin = thread_cpu_ns();
    for (std::size_t at = 0; at < data.size(); at += bytes) found[by] ^= checksum(by, data.data() + at, bytes);
    cpu_ns[by] = thread_cpu_ns() - begin;
  }
  if (found[0] != found[1] || found[0] != found[2])
    throw Error(DC_E_INTERNAL, "the checksums of the same bytes differ; please report it");
  return cpu_ns;
}

}  // namespace

void measure_checksums(bool quick, Report& report) {
  std::vector<unsigned char> data(kMost);
  std::mt19937 random(9);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  std::printf("\nCRC-32, GB/s of CPU: %18s %12s %12s\n", kNames[0], kNames[1], kNames[2]);
  for (const std::size_t bytes : kSizes) {
    std::array<std::vector<double>, 3> quotients, rates;
    for (int round = 0; round < (quick ? 2 : 15); ++round) {
      const std::array<double, 3> cpu_ns = one_round(data, bytes, random);
      for (std::size_t by = 0; by < cpu_ns.size(); ++by) {
        quotients[by].push_back(cpu_ns[by] / cpu_ns[0]);
        rates[by].push_back(kMost / cpu_ns[by]);
      }
    }
    const std::string size = bytes < kSizes[1] ? format("{} KiB", bytes >> 10) : format("{} MiB", bytes >> 20);
    std::printf("%-26s %12.1f %12.1f %12.1f\n", size.c_str(), median(rates[0]), median(rates[1]), median(rates[2]));
    for (std::size_t by = 0; by < kNames.size(); ++by)
      report.details.push_back({{"case", "CRC-32 of " + size}, {"way", kNames[by]}, {"mb_per_cpu_s", 1e3 * median(rates[by])}});
    for (std::size_t by = 1; by < kNames.size(); ++by)
      report.rows.push_back({format("CRC-32 of {}: {} / ours", size, kNames[by]), estimate(quotients[by]), false, 2, 3});
  }
}

}  // namespace damaris::bench
