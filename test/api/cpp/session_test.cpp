// Sessions on the real library, in place: what the C++ layer makes of its answers.
// Runs in one process without MPI and without a server of its own.
// Before it: damaris.hpp and libdamaris. After it: ctest.
#include <catch2/catch.hpp>
#include <damaris/damaris.hpp>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "support/temp_folder.hpp"

namespace {

constexpr const char* kConfig = R"(<simulation name="session">
  <architecture><dedicated cores="0"/><buffer size="1MiB"/></architecture>
  <data>
    <parameter name="n" value="4"/>
    <layout name="cells" type="double" dimensions="3,n"/>
    <layout name="one" type="int"/>
    <variable name="grid" layout="cells"/>
    <variable name="number" layout="one"/>
    <variable name="off" layout="cells" enabled="false"/>
  </data>
  <actions><event name="bell"/></actions>
</simulation>
)";

// A session on kConfig in a folder of its own.
struct InPlace {
  damaris::test::TempFolder folder;
  damaris::Session session = damaris::Session::attach(folder.write("session.xml", kConfig), 3);
};

void refused(dc_code code, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    FAIL("nothing was thrown");
  } catch (const damaris::Error& error) {
    CHECK(error.code() == code);
    CHECK_THAT(error.sentence(), Catch::Contains(part));
  }
}

}  // namespace

TEST_CASE("a session writes containers, sections, elements and blocks, and ends its steps") {
  InPlace p;
  const auto grid = p.session.variable<double>("grid");
  const std::vector<double> values(12, 1.5), with_halo(5 * 6);
  CHECK(p.session.write("grid", 0, values) == DC_OK);
  CHECK(grid.write(0, damaris::Section<double>(&with_halo[7], {3, 4}, {6, 1}), 1) == DC_OK);
  CHECK(p.session.write("number", 0, 42) == DC_OK);
  auto block = p.session.alloc<double>("grid", 0, 2);
  REQUIRE(block.size() == 12);
  CHECK(block.extents() == std::vector<std::int64_t>{3, 4});
  std::iota(block.begin(), block.end(), 0.0);
  CHECK(block.commit() == DC_OK);
  p.session.signal("bell", 0);
  p.session.set_time(0, 0.5);
  p.session.end_iteration(0);
  p.session.flush(0, std::chrono::seconds(10));
  CHECK(p.session.status().writes == 4);
  CHECK(p.session.status().last_complete == 0);
  p.session.finalize();
}

TEST_CASE("what does not fit the layout is refused with the library's sentence") {
  InPlace p;
  refused(DC_E_UNKNOWN_NAME, "did you mean 'grid'", [&] { p.session.write("gird", 0, std::vector<double>(12)); });
  refused(DC_E_TYPE, "holds real64", [&] { p.session.write("grid", 0, std::vector<float>(12)); });
  refused(DC_E_SHAPE, "has 2 dimensions and 12 elements", [&] { p.session.write("grid", 0, std::vector<double>(11)); });
  const std::vector<double> other(12);
  refused(DC_E_SHAPE, "is (3,4)", [&] { p.session.write("grid", 0, damaris::Section<double>(other.data(), {4, 3})); });
  refused(DC_E_TYPE, "'grid'", [&] { p.session.alloc<float>("grid", 0); });
  refused(DC_E_ALREADY_INITIALIZED, "already initialized", [&] { damaris::Session::attach("session.xml", 0); });
}

TEST_CASE("parameters and shapes change what the next step takes") {
  InPlace p;
  p.session.write("grid", 0, std::vector<double>(12));
  p.session.set_parameter("n", 5);
  CHECK(p.session.parameter("n") == 5);
  p.session.write("grid", 1, std::vector<double>(15));
  p.session.set_shape("grid", {2, 2});
  p.session.write("grid", 2, std::vector<double>(4));
}

TEST_CASE("a block has the size that its step gives it, which parameters may have changed just then") {
  InPlace p;
  p.session.write("grid", 0, std::vector<double>(12));
  p.session.set_parameter("n", 100);
  auto large = p.session.alloc<double>("grid", 1);
  CHECK(large.size() == 300);
  CHECK(large.extents() == std::vector<std::int64_t>{3, 100});
  std::fill(large.begin(), large.end(), 1.0);
  p.session.set_parameter("n", 2);
  CHECK(p.session.alloc<double>("off", 1).size() == 300);
  auto same_step = p.session.alloc<double>("grid", 1, 1);
  CHECK(same_step.size() == 300);
  CHECK(same_step.commit() == DC_OK);
  CHECK(large.commit() == DC_OK);
  auto small = p.session.alloc<double>("grid", 2);
  CHECK(small.size() == 6);
  CHECK(small.commit() == DC_OK);
  CHECK(p.session.alloc<double>("off", 3).extents() == std::vector<std::int64_t>{3, 2});
  p.session.finalize();
}

TEST_CASE("a variable that is switched off is a notice, also for a block") {
  InPlace p;
  CHECK(p.session.write("off", 0, std::vector<double>(12)) == DC_N_DISABLED);
  auto block = p.session.alloc<double>("off", 0);
  REQUIRE(block.size() == 12);
  block[11] = 1;
  CHECK(block.commit() == DC_N_DISABLED);
}

TEST_CASE("a block that is never committed is reported at the end of its step") {
  InPlace p;
  { auto forgotten = p.session.alloc<double>("grid", 0); }
  refused(DC_E_NOT_COMMITTED, "'grid'", [&] { p.session.end_iteration(0); });
  p.session.end_iteration(1);
}

TEST_CASE("after a session another one can begin, and without one there is an error") {
  { InPlace first; }
  { InPlace second; }
  refused(DC_E_NOT_INITIALIZED, "dc_initialize", [] { damaris::Session::adopt().signal("bell", 0); });
}

TEST_CASE("a session that was moved from or has ended touches no other one, whatever is called of it") {
  const std::vector<double> values(12);
  std::vector<double> read(12);
  std::optional<InPlace> first(std::in_place);
  damaris::Session moved(std::move(first->session));
  damaris::Session& empty = first->session;
  const std::vector<std::function<void()>> calls = {[&] { empty.write("grid", 0, values); },
                                                    [&] { empty.read("grid", 0, read); },
                                                    [&] { empty.last_step(); },
                                                    [&] { empty.variable<double>("grid"); },
                                                    [&] { empty.alloc<double>("grid", 0); },
                                                    [&] { empty.signal("bell", 0); },
                                                    [&] { empty.end_iteration(0); },
                                                    [&] { empty.flush(0, std::chrono::seconds(1)); },
                                                    [&] { empty.status(); },
                                                    [&] { empty.set_parameter("n", 3); },
                                                    [&] { empty.parameter("n"); },
                                                    [&] { empty.set_shape("grid", {}); },
                                                    [&] {
                                                      empty.set_position("grid", {0, 0});
                                                    },
                                                    [&] { empty.set_time(0, 1.0); },
                                                    [&] { empty.finalize(); }};
  for (const auto& call : calls) refused(DC_E_NOT_INITIALIZED, "was finalized, or moved from", call);
  CHECK(moved.write("grid", 0, values) == DC_OK);
  moved.finalize();
  refused(DC_E_NOT_INITIALIZED, "was finalized, or moved from", [&] { moved.finalize(); });
  InPlace second;
  refused(DC_E_NOT_INITIALIZED, "was finalized, or moved from", [&] { moved.finalize(); });
  first.reset();
  CHECK(second.session.write("grid", 0, values) == DC_OK);
}

TEST_CASE("a session that another one is moved to ends first, and moving to itself changes nothing") {
  InPlace first;
  damaris::Session over(std::move(first.session));
  damaris::Session& same = over;
  over = std::move(same);
  CHECK(over.write("number", 0, 1) == DC_OK);
  over = std::move(first.session);  // which is over: so is this one
  dc_status_t status;
  CHECK(dc_status(&status) == DC_E_NOT_INITIALIZED);
  InPlace second;
  over = std::move(second.session);
  CHECK(over.write("number", 0, 1) == DC_OK);
}
