// What damaris-bench compares with: do the classic parts hand over and free what they say? No times.
#include <dirent.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "child_process.hpp"
#include "core/base/error.hpp"
#include "write/classic_parts.hpp"

using damaris::bench::ChildProcess;
using damaris::bench::ClassicParts;
using damaris::bench::Handed;

namespace {

constexpr std::uint64_t kSegment = 1 << 20;
constexpr std::int64_t kTimeoutMs = 20'000;

std::string name() { return "damaris.test.classic." + std::to_string(::getpid()); }

// Names of this process in /dev/shm.
std::vector<std::string> left_behind() {
  std::vector<std::string> found;
  DIR* const folder = ::opendir("/dev/shm");
  REQUIRE(folder != nullptr);
  while (const dirent* entry = ::readdir(folder))
    if (std::string(entry->d_name).rfind(name(), 0) == 0) found.emplace_back(entry->d_name);
  ::closedir(folder);
  return found;
}

}  // namespace

TEST_CASE("the classic server has freed every block it was sent when a step has ended") {
  ClassicParts parts(name(), kSegment, kTimeoutMs);
  const std::uint64_t free_bytes = parts.free_bytes();
  const std::vector<std::byte> source(64 << 10);
  ChildProcess server([&] { parts.serve(); });
  Handed sent;
  for (std::int64_t step = 0; step < 3; ++step) {
    for (const std::uint64_t bytes : {8u, 64u, 4096u, 65536u})
      for (int i = 0; i < 8; ++i) {
        REQUIRE(parts.write(i, step, source.data(), bytes) == DC_OK);
        ++sent.blocks;
        sent.bytes += bytes;
      }
    CHECK(parts.end_step(step) == sent);
    CHECK(parts.sent() == sent);
    CHECK(parts.free_bytes() == free_bytes);
  }
  parts.stop();
  CHECK(server.wait(kTimeoutMs) == ChildProcess::State::ended_well);
}

TEST_CASE("a full segment refuses a block and has room again when the server has freed") {
  ClassicParts parts(name(), kSegment, kTimeoutMs);
  const std::uint64_t free_bytes = parts.free_bytes();
  const std::vector<std::byte> source(128 << 10);
  int code = DC_OK, written = 0;
  while ((code = parts.write(0, 0, source.data(), source.size())) == DC_OK) ++written;
  CHECK(code == DC_E_FULL);
  CHECK(written > 0);
  CHECK(parts.sent().blocks == static_cast<std::uint64_t>(written));
  ChildProcess server([&] { parts.serve(); });
  CHECK(parts.end_step(0) == parts.sent());
  CHECK(parts.free_bytes() == free_bytes);
  CHECK(parts.write(0, 1, source.data(), source.size()) == DC_OK);
  parts.stop();
  CHECK(server.wait(kTimeoutMs) == ChildProcess::State::ended_well);
}

TEST_CASE("a client whose classic server is gone hears of it within the bound, and a queue that stays full takes no block") {
  ClassicParts parts(name(), kSegment, 50);
  const std::uint64_t free_bytes = parts.free_bytes();
  CHECK_THROWS_AS(parts.end_step(0), damaris::Error);
  const std::byte source[8] = {};
  int code = DC_OK;
  while ((code = parts.write(0, 1, source, sizeof source)) == DC_OK) {
  }
  CHECK(code == DC_E_TIMEOUT);
  CHECK(parts.free_bytes() < free_bytes);
  ChildProcess server([&] { parts.serve(); });  // a late one frees what waits, and then hears of no client any more
  CHECK(server.wait(kTimeoutMs) == ChildProcess::State::failed);
  CHECK(parts.free_bytes() == free_bytes);
}

TEST_CASE("the classic parts leave no name in /dev/shm, made or not") {
  {
    const ClassicParts parts(name(), kSegment, kTimeoutMs);
    CHECK(left_behind().empty());
  }
  CHECK_THROWS_AS(ClassicParts(name(), 1, kTimeoutMs), damaris::Error);
  CHECK_THROWS_AS(ClassicParts(name(), std::uint64_t{1} << 60, kTimeoutMs), damaris::Error);
  CHECK(left_behind().empty());
}
