#include "core/shm/region.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "core/base/file.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/dead_regions.hpp"
#include "support/errors.hpp"

namespace damaris::shm {
namespace {

using damaris::test::error_of;

RegionSpec spec(const std::string& name) {
  RegionSpec spec;
  spec.name = name;
  spec.simulation = "unit";
  spec.host = "here";
  spec.xml = "<simulation/>";
  spec.model = {"{}", "{\"variables\":[]}"};
  spec.variables = "a table";
  spec.clients = 3;
  spec.buffer_bytes = 300 * 1024;
  return spec;
}

std::string fresh_name() { return region_name("unit", make_nonce(), 0, 0); }

TEST_CASE("rule 6: a region describes itself: it has configuration, model, sizes and the server's identity") {
  const std::string name = fresh_name();
  const Region made = Region::create(spec(name));
  const Region seen = Region::attach(name);
  CHECK(seen.xml() == "<simulation/>");
  CHECK(seen.model().frame == "{}");
  CHECK(seen.model().rest == "{\"variables\":[]}");
  CHECK(seen.variables() == "a table");
  CHECK(seen.client_count() == 3);
  CHECK(seen.header().config_digest == digest("<simulation/>"));
  CHECK(seen.header().server_pid == ::getpid());
}

TEST_CASE("a region has mode 0600 and is removed with its owner") {
  const std::string name = fresh_name();
  const std::string path = "/dev/shm" + name;
  {
    const Region region = Region::create(spec(name));
    struct stat info = {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a region with another user's name is never taken over") {
  const std::string name = fresh_name();
  const Region first = Region::create(spec(name));
  const Error error = error_of([&] { Region::create(spec(name)); });
  CHECK(error.code() == DC_E_SHM);
  CHECK(error.sentence().find(name) != std::string::npos);
  CHECK_NOTHROW(Region::attach(name));
}

TEST_CASE("a missing region, and another user's pipe in the place of one, are distinguished") {
  const std::string name = fresh_name(), path = "/dev/shm" + name;
  CHECK(error_of([&] { Region::attach(name); }).sentence().find("is the server of this node running?") != std::string::npos);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Error planted = error_of([&] { Region::attach(name); });
  ::unlink(path.c_str());
  CHECK(planted.code() == DC_E_SHM);
  CHECK(planted.sentence().find("is not a regular file") != std::string::npos);
}

TEST_CASE("attach refuses another ABI version, a damaged header, a short file and a file that others may read") {
  const std::string name = fresh_name();
  Region region = Region::create(spec(name));
  SECTION("version") {
    region.header().abi = kAbi + 1;
    const Error error = error_of([&] { Region::attach(name); });
    CHECK(error.code() == DC_E_VERSION);
    const std::string versions = "ABI version " + std::to_string(kAbi + 1) + ", this library has " + std::to_string(kAbi);
    CHECK(error.sentence().find(versions) != std::string::npos);
  }
  SECTION("an offset outside") {
    auto& header = region.header();
    std::uint64_t* const offset = GENERATE_REF(&header.frame_offset, &header.rest_offset, &header.variables_offset);
    *offset = ~0ull;
    CHECK(error_of([&] { Region::attach(name); }).sentence().find("is damaged") != std::string::npos);
  }
  SECTION("a count that overflows") {
    region.header().client_count = 0xffffffff;
    CHECK(error_of([&] { Region::attach(name); }).sentence().find("is damaged") != std::string::npos);
  }
  SECTION("no region at all") {
    region.header().magic = 0;
    CHECK(error_of([&] { Region::attach(name); }).sentence().find("is not a finished region") != std::string::npos);
  }
  SECTION("too short") {
    REQUIRE(::truncate(("/dev/shm" + name).c_str(), 100) == 0);
    CHECK(error_of([&] { Region::attach(name); }).sentence().find("too short") != std::string::npos);
  }
  SECTION("readable by others") {
    REQUIRE(::chmod(("/dev/shm" + name).c_str(), 0644) == 0);
    CHECK(error_of([&] { Region::attach(name); }).sentence().find("not this user's own") != std::string::npos);
  }
}

TEST_CASE("offsets are read once: what is written into the header later is ignored") {
  const std::string name = fresh_name();
  Region region = Region::create(spec(name));
  const Region attached = Region::attach(name);
  const LaneSpan before = attached.span(2);
  RegionHeader& header = region.header();
  auto* spans = reinterpret_cast<LaneSpan*>(region.at(header.spans_offset));
  header.slots_offset = header.spans_offset = header.xml_bytes = header.lane_messages = ~0ull;
  header.client_count = header.threads = ~0u;
  spans[2] = {~0ull, ~0ull, ~0ull, ~0ull};
  for (const Region* one : {&std::as_const(region), &attached}) {
    CHECK(one->client_count() == 3);
    CHECK(one->xml() == "<simulation/>");
    CHECK(one->span(2).lane_offset == before.lane_offset);
    CHECK(one->lane(2)->head.load() == 0);
    CHECK(one->slot(2).state.load() == 0);
    CHECK(one->unreleased_blocks() == 0);
  }
}

TEST_CASE("the machine's name in a damaged region ends where its field ends, and is not a path") {
  const Region region = Region::create(spec(fresh_name()));
  RegionHeader& header = region.header();
  std::memset(header.host, 'h', sizeof header.host);
  std::memcpy(header.host, "../", 3);
  CHECK(region.host() == ".._" + std::string(sizeof header.host - 3, 'h'));
}

TEST_CASE("a /dev/shm that is too small is an error that gives both figures") {
  RegionSpec large = spec(fresh_name());
  large.buffer_bytes = 1ull << 50;
  const Error error = error_of([&] { Region::create(large); });
  CHECK(error.code() == DC_E_SHM);
  CHECK(error.sentence().find(" needed but only ") != std::string::npos);
  CHECK(error.sentence().find("<buffer size=...>") != std::string::npos);
  CHECK(::access(("/dev/shm" + large.name).c_str(), F_OK) != 0);
}

TEST_CASE("arenas divide the buffer by weight, in whole pages, one for each thread") {
  CHECK(arena_shares(3 * 1024 * 1024, 3, 1, {}) == std::vector<std::uint64_t>(3, 1024 * 1024));
  CHECK(arena_shares(4 * 1024 * 1024, 2, 2, {}) == std::vector<std::uint64_t>(4, 1024 * 1024));
  CHECK(arena_shares(4 * 1024 * 1024, 2, 1, {3, 1}) == std::vector<std::uint64_t>{3 * 1024 * 1024, 1024 * 1024});
  for (const std::uint64_t share : arena_shares(1'000'000, 7, 1, {2, 1})) CHECK(share % kPage == 0);
}

TEST_CASE("a buffer too small for its clients is a configuration error") {
  RegionSpec small = spec("");
  small.buffer_bytes = 8192;
  const Error error = error_of([&] { Region::create(small); });
  CHECK(error.code() == DC_E_CONFIG);
  CHECK(error.sentence().find("3 clients") != std::string::npos);
}

}  // namespace
}  // namespace damaris::shm
