#include "core/shm/dead_regions.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "core/shm/arena.hpp"
#include "core/shm/region.hpp"
#include "dead_region.hpp"
#include "support/errors.hpp"
#include "support/temp_folder.hpp"

namespace damaris::shm {
namespace {

using damaris::test::error_of;
using model::StalePolicy;

TEST_CASE("the regions of many runs are found by one look, each once, and by no other prefix") {
  const DeadRegion one(true), two(true);
  const auto found = find_regions_of_runs({run_of_region(one.name), run_of_region(two.name), user_prefix(), "/"});
  std::set<std::string> names;
  for (const FoundRegion& region : found) names.insert(region.name);
  CHECK(found.size() == 2);
  CHECK(names == std::set<std::string>{one.name, two.name});
}

TEST_CASE("rule 16: a dead job's region without unreleased data is removed") {
  const DeadRegion dead(false);
  clear_dead_regions("dead", StalePolicy::refuse);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("rule 16: a dead job's region with data is refused by default, naming it and the remedy") {
  const DeadRegion dead(true);
  const Error error = error_of([] { clear_dead_regions("dead", StalePolicy::refuse); });
  CHECK(error.code() == DC_E_STALE_REGION);
  CHECK(error.sentence().find(dead.name) != std::string::npos);
  CHECK(error.sentence().find("still holds 1 blocks") != std::string::npos);
  CHECK(error.sentence().find("stale=\"discard\"") != std::string::npos);
  CHECK(exists(dead.name));
}

TEST_CASE("a dead region without data whose server knew of refused writes is recovered, so that its step is recorded") {
  const DeadRegion dead(false);
  omit(Region::attach(dead.name).header(), 7, Omission::one_write(7));
  std::vector<std::string> recovered;
  clear_dead_regions("dead", StalePolicy::recover, [&](const std::string& region) { recovered.push_back(region); });
  CHECK(recovered == std::vector<std::string>{dead.name});
}

TEST_CASE("rule 16: a dead region that alone knows of refused writes is refused by default, and given up with stale=discard") {
  const DeadRegion dead(false);
  omit(Region::attach(dead.name).header(), 7, GENERATE(Omission::drop(7), Omission::skip(7, 0), Omission::one_write(7)));
  const Error error = error_of([] { clear_dead_regions("dead", StalePolicy::refuse); });
  CHECK(error.code() == DC_E_STALE_REGION);
  CHECK_THAT(error.sentence(), Catch::Contains(dead.name) && Catch::Contains("data of step 7 were left out") &&
                                   Catch::Contains("'damaris recover " + dead.name + "'"));
  CHECK(exists(dead.name));
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("a physical time of a step without writes does not block a start, nor do omitted writes of a step that is stored") {
  const DeadRegion dead(false);
  {
    Region region = Region::attach(dead.name);
    record_time(region.header(), 8, 0.5);
    omit(region.header(), 7, Omission::drop(7));
    region.header().last_processed.store(7);
  }
  clear_dead_regions("dead", StalePolicy::refuse);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("rule 16: with stale=discard a dead job's data are given up") {
  const DeadRegion dead(true);
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE(
    "with stale=recover the region of one of several servers is recovered even without data, that of a single one is removed") {
  const int servers = GENERATE(1, 2);
  const DeadRegion dead(false, servers);
  std::vector<std::string> recovered;
  clear_dead_regions("dead", StalePolicy::recover, [&](const std::string& region) { recovered.push_back(region); });
  CHECK(recovered == (servers == 1 ? std::vector<std::string>{} : std::vector<std::string>{dead.name}));
  CHECK(exists(dead.name) == (servers > 1));  // the recovery takes it away
}

// In 512 bytes: what the file has in memory.
long blocks_of(const std::string& name) {
  struct stat info = {};
  return ::stat(("/dev/shm" + name).c_str(), &info) == 0 ? static_cast<long>(info.st_blocks) : -1;
}

// Takes memory of a region away: reading it would allocate a page, and end in SIGBUS where /dev/shm is full.
void punch(const std::string& path, std::uint64_t from, std::uint64_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(bytes)) == 0);
  ::close(file);
}

void cut_and_grow(const std::string& path, off_t left) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  REQUIRE(::truncate(path.c_str(), left) == 0);
  REQUIRE(::truncate(path.c_str(), info.st_size) == 0);
}

// Two clients with arenas of 32 KiB, of which one has come: a block of one page, one of three, the rest is free.
struct HalfAttended {
  explicit HalfAttended(SlotState second) {
    RegionSpec spec;
    spec.name = name = region_name("half", make_nonce(), 0, 0);
    spec.simulation = "half";
    spec.clients = 2;
    spec.buffer_bytes = 64 * 1024;
    Region region = Region::create(spec);
    const LaneSpan span = region.span(0);
    arena_offset = span.arena_offset;
    region.memory().allocate(span.arena_offset, span.arena_bytes);
    Arena arena(region.at(span.arena_offset), span.arena_bytes, region.lane(0));
    for (const std::uint64_t pages : {1, 3})
      arena.try_reserve(pages * kPage - kLine)->state.store(static_cast<std::uint32_t>(BlockState::published));
    region.slot(0).state.store(static_cast<std::uint32_t>(SlotState::attached));
    region.slot(1).state.store(static_cast<std::uint32_t>(second));
    region.memory().disown_name();
  }
  ~HalfAttended() { ::unlink(path().c_str()); }
  std::string path() const { return "/dev/shm" + name; }
  std::string name;
  std::uint64_t arena_offset = 0;
};

TEST_CASE("inspecting a dead region allocates nothing, whatever is missing of it, and the missing part of its data is known") {
  const SlotState second = GENERATE(SlotState::free, SlotState::claimed, SlotState::dead);
  const HalfAttended dead(second);
  std::size_t datasets = 2;
  bool readable = true;
  SECTION("an arena whose client never came") {}
  SECTION("the free space behind the blocks") { punch(dead.path(), dead.arena_offset + 5 * kPage, 3 * kPage); }
  SECTION("a page of a block's data: it counts as damaged") { punch(dead.path(), dead.arena_offset + 2 * kPage, kPage); }
  SECTION("the start of the arena") {
    punch(dead.path(), dead.arena_offset, kPage);
    datasets = 1;
  }
  SECTION("everything behind the header, of a file that was cut and grew again") {
    cut_and_grow(dead.path(), static_cast<off_t>(kPage));
    readable = false;
  }
  SECTION("everything: its server died before it allocated any of it") {
    cut_and_grow(dead.path(), 0);
    readable = false;
  }
  const long blocks = blocks_of(dead.name);
  const auto found = find_regions(region_prefix("half"));
  CHECK(blocks_of(dead.name) == blocks);
  REQUIRE(found.size() == (readable ? 1 : 0));
  if (readable) CHECK(found[0].unreleased_blocks == datasets);
  try {
    clear_dead_regions("half", StalePolicy::refuse);
  } catch (const Error& error) {
    CHECK(error.code() == DC_E_STALE_REGION);
  }
  CHECK((!exists(dead.name) || blocks_of(dead.name) == blocks));
}

// Changes a dead region as a server of another version, or damage, would have left it.
void change(const DeadRegion& dead, const std::function<void(const Region&)>& how) { how(Region::attach(dead.name)); }

TEST_CASE("a region that a server left unfinished is removed, one that is being made is not") {
  const std::string name = region_name("dead", make_nonce(), 0, 0);
  const auto bytes = static_cast<off_t>(GENERATE(std::size_t{0}, sizeof(RegionHeader) - 1, std::size_t{1} << 20));
  const int maker = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  REQUIRE(::ftruncate(maker, bytes) == 0);
  struct flock part = {};
  part.l_type = F_WRLCK;
  part.l_len = 1;
  REQUIRE(::fcntl(maker, F_OFD_SETLK, &part) == 0);
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK(exists(name));
  ::close(maker);
  clear_dead_regions("dead", StalePolicy::refuse);
  CHECK_FALSE(exists(name));
}

TEST_CASE("a dead region that cannot be read is refused by default, naming it, and given up with stale=discard") {
  const DeadRegion dead(true);
  SECTION("of another version") {
    change(dead, [](const Region& region) { region.header().abi = kAbi + 1; });
  }
  SECTION("damaged") {
    change(dead, [](const Region& region) { region.header().frame_offset = ~0ull; });
  }
  const Error error = error_of([] { clear_dead_regions("dead", StalePolicy::refuse); });
  CHECK(error.code() == DC_E_STALE_REGION);
  CHECK_THAT(error.sentence(),
             Catch::Contains("the region " + dead.name + " may hold blocks") && Catch::Contains("stale=\"discard\""));
  {
    auto user = SharedMemory::open(dead.name, 1);
    REQUIRE(user.try_lock(kClientParts));
    clear_dead_regions("dead", StalePolicy::discard);
    CHECK(exists(dead.name));
  }
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("an arena that is damaged counts as holding data, one that no client has made does not") {
  const DeadRegion dead(false);
  std::size_t expected = 1;
  const auto leave = [&](SlotState state, std::uint32_t magic) {
    change(dead, [&](const Region& region) {
      region.slot(0).state.store(static_cast<std::uint32_t>(state));
      reinterpret_cast<BlockHeader*>(region.at(region.span(0).arena_offset))->magic = magic;
    });
  };
  SECTION("overwritten while the client was attached") { leave(SlotState::attached, 0); }
  SECTION("overwritten, and the client died") { leave(SlotState::dead, 77); }
  SECTION("never created: no client came") {
    leave(SlotState::free, 0);
    expected = 0;
  }
  SECTION("never created: the server gave up the slot") {
    leave(SlotState::dead, 0);
    expected = 0;
  }
  CHECK(find_regions(region_prefix("dead")).at(0).unreleased_blocks == expected);
  if (expected > 0) CHECK(error_of([] { clear_dead_regions("dead", StalePolicy::refuse); }).code() == DC_E_STALE_REGION);
}

TEST_CASE("rule 16: a living server's region, and another simulation's, are never touched") {
  RegionSpec spec;
  spec.name = region_name("alive", make_nonce(), 0, 0);
  spec.simulation = "alive";
  const Region region = Region::create(spec);
  const DeadRegion other(true);
  clear_dead_regions("alive", StalePolicy::discard);
  CHECK(exists(spec.name));
  CHECK(exists(other.name));
}

TEST_CASE(
    "a region left by a simulation of a similar name, or by the same one in another place, is neither refused nor discarded") {
  const std::string long_name(60, 'a');
  const auto [left, started] = GENERATE_COPY(table<RunKey, RunKey>(
      {{{"run.1"}, {"run_1"}}, {{long_name + "1"}, {long_name + "2"}}, {{"study", "/data/a/x"}, {"study", "/data/b/x"}}}));
  const DeadRegion dead(true, 1, left);
  for (const StalePolicy policy : {StalePolicy::refuse, StalePolicy::discard}) clear_dead_regions(started, policy);
  CHECK(exists(dead.name));
  CHECK_THROWS_AS(clear_dead_regions(left, StalePolicy::refuse), Error);
}

struct InJob {
  explicit InJob(const std::string& name) { ::setenv("DAMARIS_JOB", name.c_str(), 1); }
  ~InJob() { ::unsetenv("DAMARIS_JOB"); }
};

TEST_CASE("rule 16: a region that a dead server of another job left is refused, recovered or discarded like one of the same job") {
  const RunKey key("again", "/data/a/x");
  const InJob job("1001");
  const DeadRegion dead(true, 1, key);
  const InJob next("1002");
  const Error error = error_of([&] { clear_dead_regions(key, StalePolicy::refuse); });
  CHECK(error.code() == DC_E_STALE_REGION);
  CHECK(error.sentence().find(dead.name) != std::string::npos);
  std::vector<std::string> recovered;
  clear_dead_regions(key, StalePolicy::recover, [&](const std::string& region) { recovered.push_back(region); });
  CHECK(recovered == std::vector<std::string>{dead.name});
  CHECK(exists(dead.name));
  clear_dead_regions(key, StalePolicy::discard);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("rule 16: a start in another job touches no region of a living server, nor one of another simulation or place") {
  const RunKey key("again", "/data/a/x");
  const InJob job("1001");
  RegionSpec spec;
  spec.name = region_name(key, make_nonce(), 0, 0);
  const Region living = Region::create(spec);
  const DeadRegion elsewhere(true, 1, RunKey("again", "/data/b/x")), other(true, 1, RunKey("1002", "/data/a/x"));
  const InJob next("1002");
  for (const StalePolicy policy : {StalePolicy::refuse, StalePolicy::discard}) clear_dead_regions(key, policy);
  for (const std::string& name : {spec.name, elsewhere.name, other.name}) CHECK(exists(name));
}

TEST_CASE("a dead region that a start in another job has cleared in the meantime is no obstacle") {
  const DeadRegion dead(true);
  const Recover too_late = [](const std::string& region) {
    ::unlink(("/dev/shm" + region).c_str());
    throw Error(DC_E_SHM, "there is no such region");
  };
  CHECK_NOTHROW(clear_dead_regions("dead", StalePolicy::recover, too_late));
}

TEST_CASE("a run is identified by the folder of its output, whatever path leads there") {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder.file("real"));
  std::filesystem::create_directory_symlink(folder.file("real"), folder.file("link"));
  const auto key = [&](const std::string& basename) {
    model::Model model;
    model.simulation = "study";
    model.file = folder.file("study.xml");
    if (!basename.empty()) {
      model.plugins.emplace_back();
      model.plugins.back().storage = true;
      model.plugins.back().settings = {{"basename", basename}};
    }
    return region_prefix(run_key(model));
  };
  CHECK(key(folder.file("real/x")) == key(folder.file("link/../link/x")));
  CHECK(key(folder.file("real/x")) != key(folder.file("real/y")));
  CHECK(key("") != key(folder.file("real/x")));
}

TEST_CASE("a dead server's region that another process recovers is not removed") {
  const DeadRegion dead(true);
  auto holder = SharedMemory::open(dead.name, 1);
  REQUIRE(holder.try_lock(kTakeoverPart));
  CHECK(error_of([] { clear_dead_regions("dead", StalePolicy::discard); }).code() == DC_E_REGION_IN_USE);
  CHECK(exists(dead.name));
}

void set_state(const Region& region, RegionState state) { region.header().state.store(static_cast<std::uint32_t>(state)); }

TEST_CASE("a living region that blocks a start is named at once, one that is leaving only after the time-out") {
  RegionSpec spec;
  spec.name = region_name("way", make_nonce(), 0, 0);
  Region region = Region::create(spec);
  const auto always = [](const FoundRegion&) { return true; };
  region.set_ready();
  const auto ready = wait_until_clear(region_prefix("way"), 3'600'000, always);
  REQUIRE(ready);
  CHECK(ready->name == spec.name);
  CHECK_FALSE(wait_until_clear(region_prefix("way"), 0, [](const FoundRegion&) { return false; }));
  set_state(region, RegionState::leaving);
  CHECK(wait_until_clear(region_prefix("way"), 20, always));
  const std::atomic<bool> stop{true};
  CHECK(wait_until_clear(region_prefix("way"), 3'600'000, always, &stop));
}

TEST_CASE("a region that is leaving is no longer an obstacle once it is closed and its server has released it") {
  RegionSpec spec;
  spec.name = region_name("way", make_nonce(), 0, 0);
  Region region = Region::create(spec);
  set_state(region, RegionState::leaving);
  int looks = 0;
  CHECK_FALSE(wait_until_clear(region_prefix("way"), 3'600'000, [&](const FoundRegion&) {
    if (++looks == 1) set_state(region, RegionState::closed);
    if (looks == 2) region.memory().unlock(kServerPart);
    return true;
  }));
  CHECK(looks == 2);
}

}  // namespace
}  // namespace damaris::shm
