// The region of a dead server that has a living client.
#include <catch2/catch.hpp>

#include <unistd.h>

#include "core/shm/block.hpp"
#include "dead_region.hpp"
#include "support/errors.hpp"

namespace damaris::shm {
namespace {

using damaris::test::error_of;
using model::StalePolicy;

// This process is a client of the region, as of one whose server has died.
ClientSlot& join(Region& region, SlotState state) {
  ClientSlot& slot = region.slot(0);
  REQUIRE(region.memory().try_lock(kClientParts));
  slot.pid = ::getpid();
  slot.state.store(static_cast<std::uint32_t>(state));
  return slot;
}

const StalePolicy kPolicies[] = {StalePolicy::refuse, StalePolicy::recover, StalePolicy::discard};

TEST_CASE("a dead server's region without data stays under any policy while a client of it lives, and goes when that has ended") {
  const int servers = GENERATE(1, 2);
  const DeadRegion dead(false, servers);
  Region region = Region::attach(dead.name);
  ClientSlot& slot = join(region, GENERATE(SlotState::claimed, SlotState::attached));
  const auto never = [](const std::string&) { FAIL("a region with a living client is recovered"); };
  for (const StalePolicy policy : kPolicies) {
    clear_dead_regions("dead", policy, never);
    CHECK(exists(dead.name));
  }
  CHECK(find_regions(region_prefix("dead")).at(0).living_clients == std::vector<std::int32_t>{::getpid()});
  SECTION("killed") { region.memory().unlock(kClientParts); }
  SECTION("taken for dead by its server") { slot.state.store(static_cast<std::uint32_t>(SlotState::dead)); }
  clear_dead_regions("dead", StalePolicy::refuse);
  CHECK_FALSE(exists(dead.name));
}

TEST_CASE("a dead server's region with data and a living client refuses the start and names the process, unless stale=discard") {
  const DeadRegion dead(true);
  Region region = Region::attach(dead.name);
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

}  // namespace
}  // namespace damaris::shm
