// The region of a dead server that has a living client.
#include <catch2/catch.hpp>

#include <unistd.h>

#include "core/shm/states.hpp"
#include "dead_region.hpp"
#include "support/errors.hpp"

namespace damaris::shm {
namespace {

using damaris::test::error_of;
using model::StalePolicy;

// This process is a client of the region, as of one whose server has died.
ClientSlot& join(const Region& region, SlotState state) {
  ClientSlot& slot = region.slot(0);
  const ProcessId self = this_process();
  slot.pid = self.pid;
  slot.start_time = self.start_time;
  slot.space = self.space;
  slot.claimer.store(word_of(self));
  slot.state.store(static_cast<std::uint32_t>(state));
  return slot;
}

const StalePolicy kPolicies[] = {StalePolicy::refuse, StalePolicy::recover, StalePolicy::discard};

TEST_CASE("a dead server's region without data stays under any policy while a client of it lives, and goes when that has ended") {
  const int servers = GENERATE(1, 2);
  const DeadRegion dead(false, servers);
  const Region region = Region::attach(dead.name);
  ClientSlot& slot = join(region, GENERATE(SlotState::claimed, SlotState::attached));
  const auto never = [](const std::string&) { FAIL("a region with a living client is recovered"); };
  for (const StalePolicy policy : kPolicies) {
    clear_dead_regions("dead", policy, never);
    CHECK(exists(dead.name));
  }
  CHECK(find_regions(region_prefix("dead")).at(0).living_clients == std::vector<std::int32_t>{::getpid()});
  SECTION("killed") {
    slot.pid = 0x7ffffff0;
    slot.claimer.store(word_of({slot.pid, 1, 0}));
  }
  SECTION("taken for dead by its server") { slot.state.store(static_cast<std::uint32_t>(SlotState::dead)); }
  clear_dead_regions("dead", StalePolicy::refuse);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("a dead server's region with data and a living client refuses the start and names the process, unless stale=discard") {
  const DeadRegion dead(true);
  const Region region = Region::attach(dead.name);
  join(region, SlotState::attached);
  const auto never = [](const std::string&) { FAIL("a region with a living client is recovered"); };
  for (const StalePolicy policy : {StalePolicy::refuse, StalePolicy::recover}) {
    const Error error = error_of([&] { clear_dead_regions("dead", policy, never); });
    CHECK(error.code() == DC_E_REGION_IN_USE);
    CHECK_THAT(error.sentence(),
               Catch::Contains("process " + std::to_string(::getpid()) + " is still a client of the region " + dead.name) &&
                   Catch::Contains("the region holds 1 blocks") && Catch::Contains("'damaris recover " + dead.name + "'"));
  }
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK(exists(dead.name));
}

TEST_CASE("a client of a dead server that this process cannot see lives as long as it holds its part") {
  const DeadRegion dead(false);
  Region region = Region::attach(dead.name);
  join(region, SlotState::attached).space = 12;  // of no namespace
  REQUIRE(region.memory().try_lock(kClientParts));
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK(exists(dead.name));
  region.memory().unlock(kClientParts);
  clear_dead_regions("dead", StalePolicy::discard);
  CHECK_FALSE(exists(dead.name));
}

}  // namespace
}  // namespace damaris::shm
