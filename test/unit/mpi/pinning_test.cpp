// Where a dedicated core goes, on machines that hwloc makes up.
#include "mpi/pinning.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace damaris::mpi;
using Processors = std::vector<int>;

namespace {

class Machine {
 public:
  // As `lstopo --input` takes it: numbers from the outside to the inside.
  explicit Machine(const char* description, const char* allowed = nullptr) {
    REQUIRE(hwloc_topology_init(&topology_) == 0);
    REQUIRE(hwloc_topology_set_synthetic(topology_, description) == 0);
    REQUIRE(hwloc_topology_load(topology_) == 0);
    if (allowed == nullptr) return;
    const hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_bitmap_list_sscanf(set, allowed);
    CHECK(hwloc_topology_restrict(topology_, set, 0) == 0);
    hwloc_bitmap_free(set);
  }
  ~Machine() { hwloc_topology_destroy(topology_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  Processors of(int ranks, int servers = 1, int index = 0) const { return processors_of(topology_, {ranks, servers, index}); }

 private:
  hwloc_topology_t topology_ = nullptr;
};

}  // namespace

TEST_CASE("the last core is the dedicated one, and the next servers have a part of the node each") {
  const Machine machine("core:8 pu:1");
  CHECK(machine.of(8) == Processors{7});
  CHECK(machine.of(8, 2, 0) == Processors{3});
  CHECK(machine.of(8, 2, 1) == Processors{7});
  CHECK(machine.of(8, 3, 0) == Processors{1});
  CHECK(machine.of(8, 3, 1) == Processors{4});
  CHECK(machine.of(8, 3, 2) == Processors{7});
}

TEST_CASE("a dedicated core has all its hardware threads where each rank can have a core") {
  const Machine machine("pack:2 core:4 pu:2");
  CHECK(machine.of(8) == Processors{14, 15});
  CHECK(machine.of(3) == Processors{14, 15});
  CHECK(machine.of(8, 2, 0) == Processors{6, 7});  // a socket each
  CHECK(machine.of(8, 2, 1) == Processors{14, 15});
}

TEST_CASE("with a rank on each hardware thread the server has one of them") {
  const Machine machine("pack:2 core:4 pu:2");
  CHECK(machine.of(9) == Processors{15});
  CHECK(machine.of(16, 2, 0) == Processors{7});
  CHECK(machine.of(16, 2, 1) == Processors{15});
}

TEST_CASE("with more ranks than processors nothing is bound") {
  const Machine machine("pack:2 core:4 pu:2");
  CHECK(machine.of(17).empty());
  CHECK(Machine("core:1 pu:1").of(2).empty());
}

TEST_CASE("only processors that the job may use count") {
  CHECK(Machine("pack:2 core:4 pu:2", "0-7").of(4) == Processors{6, 7});
  CHECK(Machine("pack:2 core:4 pu:2", "0,2,4,6,8,10").of(6) == Processors{10});  // one hardware thread a core
  CHECK(Machine("pack:2 core:4 pu:2", "0-3").of(4) == Processors{3});
  CHECK(Machine("pack:2 core:4 pu:2", "0-3").of(5).empty());
}

TEST_CASE("no two servers share a core, on any machine with room") {
  for (const char* description : {"core:7 pu:1", "pack:2 core:3 pu:2", "numa:4 core:2 pu:4"}) {
    const Machine machine(description);
    for (int servers = 1; servers <= 6; ++servers) {
      Processors all;
      for (int index = 0; index < servers; ++index)
        for (const int processor : machine.of(6, servers, index)) all.push_back(processor);
      Processors once = all;
      std::sort(once.begin(), once.end());
      once.erase(std::unique(once.begin(), once.end()), once.end());
      CHECK(once.size() == all.size());
      CHECK_FALSE(all.empty());
    }
  }
}
