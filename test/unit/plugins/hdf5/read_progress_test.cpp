// What the log says of a read that takes long, with a clock made by hand.
#include "plugins/hdf5/restart/restart_reader.hpp"

#include <catch2/catch.hpp>

#include <vector>

using damaris::Instant;
using damaris::hdf5::ReadProgress;

namespace {

constexpr std::uint64_t kMib = 1 << 20;

Instant at(int seconds) { return Instant(std::chrono::seconds(1'000 + seconds)); }

}  // namespace

TEST_CASE("the progress of a long read is logged every ten seconds: of what, for which client, how far; its parts count as one") {
  std::vector<std::string> lines;
  ReadProgress progress([&](const std::string& line) { lines.push_back(line); });
  dc_variable_info_t variable = {};
  variable.id = 3;
  variable.path = "fields/theta";
  dc_read_t read = {};
  read.variable = &variable;
  read.step = 5;
  read.source = 2;
  progress.begin(read, at(0));
  progress.checks("out/a.h5", kMib, 4 * kMib, at(9));
  CHECK(lines.empty());
  progress.checks("out/a.h5", 2 * kMib, 4 * kMib, at(10));
  progress.took(7 * kMib, at(12));
  progress.begin(read, at(13));  // the next part
  progress.took(7 * kMib, at(21));
  CHECK(lines ==
        std::vector<std::string>{
            "reads 'fields/theta' of step 5 for client 2 since 10 s: 0 MiB so far, checks 2 MiB of 4 MiB of out/a.h5 first",
            "reads 'fields/theta' of step 5 for client 2 since 21 s: 14 MiB so far"});
}

TEST_CASE("another read begins anew") {
  std::vector<std::string> lines;
  ReadProgress progress([&](const std::string& line) { lines.push_back(line); });
  dc_variable_info_t variable = {};
  variable.path = "x";
  dc_read_t read = {};
  read.variable = &variable;
  for (int step = 0; step < 5; ++step) {
    read.step = step;
    progress.begin(read, at(6 * step));
    progress.took(kMib, at(6 * step + 5));
  }
  CHECK(lines.empty());
}
