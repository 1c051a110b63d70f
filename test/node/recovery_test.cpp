// What a second server takes over from the region of one that is gone.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/log.hpp"
#include "core/shm/steps.hpp"
#include "remains.hpp"

namespace damaris::test {
namespace {

shm::BlockHeader& first_block(shm::Region& region, int client) {
  return *reinterpret_cast<shm::BlockHeader*>(region.at(region.span(static_cast<std::uint32_t>(client)).arena_offset));
}

}  // namespace

TEST_CASE("recovery stores what waits in the lanes, what the dead server had taken, and each dataset once") {
  Remains remains(2, {}, "", GENERATE(false, true));
  remains.write(0, 0);
  remains.write(1, 0);
  if (GENERATE(true, false)) remains.poll();  // taken by the server, or still in the lanes
  remains.client(0).end_iteration(0);
  remains.write(0, 1);
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::Contains("step 0 ") && Catch::Contains("datasets 2 small:0.0=16:10 small:1.0=16:10"));
  CHECK_THAT(lines[1], Catch::Contains("step 1 ") && Catch::Contains("datasets 1 small:0.0=16:10"));
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(remains.result().code == DC_OK);
}

TEST_CASE("a server that was killed between noting the end of a step and removing its message has damaged no lane") {
  Remains remains;
  for (const int id : {0, 1}) {
    remains.write(id, 0);
    remains.poll();
    remains.client(id).end_iteration(0);
    remains.region().slot(static_cast<std::uint32_t>(id)).ended_step.store(0);
    remains.write(id, 1);
    remains.client(id).end_iteration(1);
  }
  const std::vector<std::string> stored = remains.recover();
  REQUIRE(stored.size() == 2);
  for (const std::string& line : stored) CHECK_THAT(line, Catch::Contains(" complete 1 ") && Catch::Contains("datasets 2 "));
  CHECK(remains.result().code == DC_OK);
}

TEST_CASE("recovery lists the clients that had not ended a step as missing, and none if all had") {
  Remains remains(2, {}, "", GENERATE(false, true));
  for (int id : {0, 1}) remains.write(id, 0);
  for (int id : {0, 1}) remains.client(id).end_iteration(0);
  remains.write(0, 1);
  remains.client(0).end_iteration(1);
  remains.write(1, 1);
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], !Catch::Contains("missing"));
  CHECK_THAT(lines[1], Catch::Contains("missing:1") && !Catch::Contains("missing:0"));
}

TEST_CASE("recovery runs no action of a signal that was waiting") {
  Remains remains(1);
  remains.write(0, 0);
  remains.client(0).signal("look", 0);
  CHECK(remains.recover().size() == 1);
}

TEST_CASE("a block that its writer had reserved and not published is not recovered") {
  Remains remains(1);
  remains.write(0, 0);
  void* data = nullptr;
  (void)remains.client(0).alloc(remains.client(0).shapes().find("small"), 0, 1, &data);
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("datasets 1 small:0.0"));
}

TEST_CASE("a step whose blocks were being given back is not stored again with those that are left of it") {
  Remains remains;
  for (int id : {0, 1}) remains.write(id, 3);
  remains.poll();
  first_block(remains.region(), 0).state.store(static_cast<std::uint32_t>(shm::BlockState::released));
  remains.region().header().releasing.store(3);
  CHECK(remains.recover().empty());
  CHECK(remains.region().unreleased_blocks() == 0);
}

TEST_CASE("a recovery that was killed while it released a step has not stored an earlier one that it could not store") {
  Remains remains;
  for (int step : {3, 4})
    for (int id : {0, 1}) remains.write(id, step);
  remains.region().header().releasing.store(4);
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("step 3 ") && Catch::Contains("datasets 2 "));
  CHECK(remains.region().unreleased_blocks() == 0);
}

// The page of the last block may not be written, so that the server stops in the middle of giving the blocks back.
TEST_CASE("while a server gives the blocks of a step back, the region says which step that is") {
  Remains remains(1);
  for (int block = 0; block < kMany; ++block) remains.write(0, 3, block);
  remains.client(0).end_iteration(3);
  const pid_t server = ::fork();
  if (server == 0) {
    static shm::RegionHeader* header = &remains.region().header();
    const auto stopped = [](int) { ::_exit(header->releasing.load() == 3 ? 10 : 11); };
    ::signal(SIGSEGV, stopped);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::byte* last = nullptr;
    const shm::LaneSpan span = remains.region().span(0);
    shm::walk_arena(remains.region().at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t) {
      if (block.state.load() == static_cast<std::uint32_t>(shm::BlockState::published)) last = reinterpret_cast<std::byte*>(&block);
    });
    if (last == nullptr) ::_exit(12);
    last -= reinterpret_cast<std::uintptr_t>(last) % page;
    if (::mprotect(last, page, PROT_READ) != 0) ::_exit(13);
    remains.poll();
    ::_exit(14);  // it came through
  }
  int status = 0;
  REQUIRE(::waitpid(server, &status, 0) == server);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 10);
}

TEST_CASE("what a client left of a step that was stored, as it died in a call, is not taken for the step") {
  Remains remains(2, {}, "", GENERATE(false, true));
  for (int id : {0, 1}) {
    remains.write(id, 0);
    remains.client(id).end_iteration(0);
  }
  remains.poll();
  REQUIRE(remains.region().header().last_processed.load() == 0);
  void* data = nullptr;
  (void)remains.client(1).alloc(remains.client(1).shapes().find("small"), 1, 7, &data);
  shm::BlockHeader& left = *reinterpret_cast<shm::BlockHeader*>(static_cast<std::byte*>(data) - shm::header_bytes({1, 0}));
  left.step = 0;
  left.state.store(static_cast<std::uint32_t>(shm::BlockState::published));
  remains.write(0, 1);
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("step 1 ") && Catch::Contains("datasets 1 "));
  CHECK(remains.region().unreleased_blocks() == 0);
}

TEST_CASE("recovery knows the time of a step, and what may have been skipped of it, even if the dead server had taken both") {
  Remains remains;
  remains.write(0, 0);
  remains.client(0).set_time(0, 4.5);
  remains.client(0).end_iteration(0);
  shm::omit(remains.region().header(), 0, shm::Omission::skip(0, 3));
  remains.poll();
  remains.write(1, 1);
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::Contains("time 4.5") && Catch::Contains("skipped:small"));
  CHECK_THAT(lines[1], Catch::Contains("time -1") && !Catch::Contains("skipped"));
}

TEST_CASE("recovery calls no step whole if the dead server knew of writes that were left out, nor forgets one without any") {
  const int steps = GENERATE(3, 40, 300);
  const bool has_data = steps > static_cast<int>(shm::kOmissions);  // more than there are words: those without data are not known
  Remains remains;
  for (int step = 0; step < steps; ++step) {
    if (has_data) remains.write(0, step);
    shm::omit(remains.region().header(), step, shm::Omission::skip(step, 3));
    if (!has_data) remains.write(0, step);
    remains.client(0).end_iteration(step);
    remains.poll();  // the other client ends none
  }
  const auto lines = remains.recover();
  REQUIRE(lines.size() == static_cast<std::size_t>(steps));
  for (const std::string& line : lines) CHECK_THAT(line, Catch::Contains("refused:1 writes of it were left out"));
  for (int step = std::max(0, steps - static_cast<int>(shm::kOmissions)); step < steps; ++step)
    CHECK_THAT(lines[static_cast<std::size_t>(step)], Catch::Contains("skipped:small"));
}

TEST_CASE("of more open steps than a server can list, recovery invents none, and says which may have lost their times") {
  constexpr std::int64_t kSteps = 300, kGap = 1000, kFirst = kGap * (kSteps - static_cast<std::int64_t>(shm::kTimes));
  const TempFolder folder;
  configure_log(LogLevel::warning, folder.file("log"), "recover");
  Remains remains(2);
  for (std::int64_t number = 0; number < kSteps; ++number) {
    remains.client(0).set_time(kGap * number, 0.5);
    remains.write(0, kGap * number);
    remains.poll();  // client 1 has ended none of them
  }
  const auto lines = remains.recover();
  REQUIRE(lines.size() == kSteps);
  for (std::int64_t number = 0; number < kSteps; ++number)
    CHECK_THAT(lines[static_cast<std::size_t>(number)], Catch::Contains(kGap * number < kFirst ? "time -1" : "time 0.5"));
  configure_log(LogLevel::off, "", "");
  std::ostringstream log;
  log << std::ifstream(folder.file("log")).rdbuf();
  CHECK_THAT(log.str(),
             Catch::Contains("more than 64 steps with physical times are open: a recovery would not know that of step 0"));
}

TEST_CASE("what one recovery could not store the next one does") {
  Remains remains(1, {{"fail_at", "0"}});
  for (int step : {0, 1}) {
    remains.write(0, step);
    remains.client(0).end_iteration(step);
  }
  CHECK(remains.recover().size() == 2);
  CHECK(remains.region().unreleased_blocks() == 1);
  remains.mend();
  const auto lines = remains.recover();
  REQUIRE(lines.size() == 3);  // two of the first time
  CHECK_THAT(lines[2], Catch::Contains("step 0 ") && Catch::Contains("datasets 1 "));
  CHECK(remains.region().unreleased_blocks() == 0);
}

TEST_CASE("what cannot be stored stays in the region") {
  Remains remains(1, {{"fail_at", "1"}});
  for (int step : {0, 1, 2}) {
    remains.write(0, step);
    remains.client(0).end_iteration(step);
  }
  CHECK(remains.recover().size() == 3);
  CHECK(remains.result().code == DC_E_IO);
  CHECK(remains.region().unreleased_blocks() == 1);
}

TEST_CASE("recovery goes on behind a damaged lane, a damaged block and a damaged arena") {
  Remains remains;
  for (int id : {0, 1}) remains.write(id, 0);
  for (int id : {0, 1}) remains.write(id, 0, 1);
  SECTION("a lane whose counter cannot be: its blocks are still found") {
    remains.region().lane(0)->head.store(std::uint64_t{1} << 40);
    CHECK_THAT(remains.recover().at(0), Catch::Contains("datasets 4 "));
  }
  SECTION("a block with a false header") {
    first_block(remains.region(), 0).variable = 77;
    CHECK_THAT(remains.recover().at(0), Catch::Contains("datasets 3 small:0.1=16:10 small:1.0"));
    CHECK(remains.result().message.find("was refused: there is no variable 77") != std::string::npos);
  }
  SECTION("an arena that cannot be walked: the rest of it is unknown, so no step counts as whole") {
    remains.poll();
    for (int id : {0, 1}) remains.client(id).end_iteration(0);
    first_block(remains.region(), 0).magic = 1;
    CHECK_THAT(remains.recover().at(0), Catch::Contains("datasets 2 small:1.0=16:10 small:1.1=16:10 absent:0 refused:1 "));
    CHECK(remains.region().unreleased_blocks() == 1);
  }
}

TEST_CASE("a block that a server refused before it died makes its step partial in the recovery, too") {
  Remains remains(1);
  remains.write(0, 0, 0);
  remains.write(0, 0, 1);
  first_block(remains.region(), 0).data_bytes = 17;
  remains.poll();
  remains.client(0).end_iteration(0);
  CHECK_THAT(remains.recover().at(0),
             Catch::Contains("datasets 1 small:0.1=16:10 refused:1 'small' of client 0 in step 0 was refused"));
  CHECK(remains.region().unreleased_blocks() == 0);
}

TEST_CASE("a block that came after its step was stored is given up, and counted: this was reported to its client") {
  Remains remains(1);
  remains.write(0, 0);
  remains.client(0).end_iteration(0);
  remains.region().header().last_processed.store(0);
  (void)remains.recover();
  CHECK(remains.given_up() == 1);
}

}  // namespace damaris::test
