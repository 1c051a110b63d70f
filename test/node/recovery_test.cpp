// What a second server takes over from the region of one that is gone. The first one just stops being polled, at any point.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/shm/arena.hpp"
#include "core/shm/omission.hpp"
#include "node.hpp"

namespace damaris::test {
namespace {

const std::int32_t kFour[4] = {1, 2, 3, 4};

constexpr int kMany = 90;  // blocks of 128 bytes: nearly all of 12 KiB

// The region of a server that died, its clients with it.
class Remains {
 public:
  explicit Remains(int clients = 2, const std::vector<std::pair<std::string, std::string>>& settings = {},
                   const std::string& spill = "", bool pooled = false) {
    model::Model model = node_model();
    model.architecture.pooled = pooled;
    model.variables[0].on_full = model::OnFull::skip;
    if (!spill.empty()) {
      model.architecture.buffer_bytes = 12 * 1024;
      model.architecture.spill = spill;
      model.architecture.spill_bytes = 1 << 30;
    }
    add_event(model, "look", {DC_SCOPE_CORE});
    // Without the plugin, which knows of one server at a time.
    const auto before = std::make_shared<model::Model>(model);
    add_recorder(model, true, settings);
    model_ = std::make_shared<model::Model>(model);
    ::setenv("DAMARIS_TEST_LOG", folder_.file("before").c_str(), 1);
    region_ = server::make_region(*model_, "<simulation/>", clients, {"", "host", 0, false});
    first_ = std::make_unique<server::Server>(before, region_, std::make_unique<server::SingleCoordinator>(), sources_);
    for (int id = 0; id < clients; ++id) {
      client::try_claim(*region_, static_cast<std::uint32_t>(id), id);
      clients_.push_back(std::make_unique<client::Client>(region_, model_, static_cast<std::uint32_t>(id), id));
    }
  }
  client::Client& client(int id) { return *clients_[static_cast<std::size_t>(id)]; }
  void write(int id, std::int64_t step, int block = 0) { client(id).write(client(id).shapes().find("small"), step, block, kFour); }
  void poll() {
    for (int pass = 0; pass < 20; ++pass) first_->poll();
  }
  shm::Region& region() { return *region_; }
  void republish_one_that_was_spilled() {
    const shm::LaneSpan span = region_->span(0);
    bool done = false;
    shm::walk_arena(region_->at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t) {
      if (done || block.state.load() != static_cast<std::uint32_t>(shm::BlockState::released)) return;
      block.state.store(static_cast<std::uint32_t>(shm::BlockState::published));
      done = true;
    });
    REQUIRE(done);
  }

  // As `damaris recover` does. Returns the lines of the storage.
  std::vector<std::string> recover(bool give_up_spilled = false) {
    ::setenv("DAMARIS_TEST_LOG", folder_.file("after").c_str(), 1);
    server::Server second(model_, region_, std::make_unique<server::SingleCoordinator>(), {});
    second.adopt(give_up_spilled);
    result_ = second.run();
    given_up_ = second.adoption()->given_up();
    std::ifstream log(folder_.file("after.s0"));
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);)
      if (line.rfind("step", 0) == 0 || line.rfind("event", 0) == 0) found.push_back(line);
    return found;
  }
  const Status& result() const { return result_; }
  std::uint64_t given_up() const { return given_up_; }
  // What hindered the storage is mended.
  void mend() {
    model::Model model = *model_;
    model.plugins[0].settings.clear();
    model_ = std::make_shared<model::Model>(model);
  }

 private:
  TempFolder folder_;
  std::vector<std::int32_t> sources_ = {0, 1};
  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  std::unique_ptr<server::Server> first_;
  std::vector<std::unique_ptr<client::Client>> clients_;
  Status result_;
  std::uint64_t given_up_ = 0;
};

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

TEST_CASE(
    "recovery calls no step whole of which the dead server had heard that writes were left out, nor forgets one without any") {
  const int steps = GENERATE(3, 40, 300);  // more than there are decisions, and than there are words for them
  Remains remains;
  for (int step = 0; step < steps; ++step) {
    shm::omit(remains.region().header(), step, shm::Omission::skip(step, 3));
    remains.write(0, step);
    remains.client(0).end_iteration(step);
    remains.poll();  // the other client ends none
  }
  const auto lines = remains.recover();
  REQUIRE(lines.size() == static_cast<std::size_t>(steps));
  for (const std::string& line : lines) CHECK_THAT(line, Catch::Contains("refused:1 writes of it were left out"));
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

TEST_CASE("recovery stores what had been spilled, and what was in the region as well only once; the file goes") {
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  for (int block = 0; block < kMany; ++block) remains.write(0, 0, block);
  remains.poll();
  const std::uint64_t spilled = remains.region().header().spilled_blocks.load();
  REQUIRE(spilled > 0);
  // As if the server had died between the copy of the last one and its release.
  const bool twice = GENERATE(true, false);
  if (twice) remains.republish_one_that_was_spilled();
  CHECK(remains.region().unreleased_blocks() == std::size_t{kMany} + (twice ? 1 : 0));
  CHECK_THAT(remains.recover().at(0), Catch::Contains("datasets 90 small:0.0=16:10 ") && !Catch::Contains("refused:"));
  CHECK(remains.result().code == DC_OK);
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a block that came after its step was stored is given up, and counted: this was reported to its client") {
  Remains remains(1);
  remains.write(0, 0);
  remains.client(0).end_iteration(0);
  remains.region().header().last_processed.store(0);
  (void)remains.recover();
  CHECK(remains.given_up() == 1);
}

TEST_CASE("the blocks of the newest step are spilled first, for they are stored last") {
  const TempFolder folder;
  Remains remains(2, {}, folder.path());
  const shm::LaneSpan span = remains.region().span(0);
  constexpr std::uint64_t kBlock = 128;
  const int each = static_cast<int>(span.arena_bytes * 9 / 10 / kBlock / 3);
  for (std::int64_t step : {0, 1, 2})
    for (int block = 0; block < each; ++block) remains.write(0, step, block);  // client 1 has ended none of them
  remains.poll();
  std::map<std::int64_t, int> left;
  shm::walk_arena(remains.region().at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t) {
    if (block.state.load() == static_cast<std::uint32_t>(shm::BlockState::published)) ++left[block.step];
  });
  CHECK(remains.region().header().spilled_blocks.load() > 0);
  CHECK(left[0] == each);
  CHECK(left[1] == each);
  CHECK(left[2] < each);
}

TEST_CASE("a spilled dataset whose labels cannot be is missing: recovery names it, and stores the others when it is given up") {
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  for (int block = 0; block < kMany; ++block) remains.write(0, 0, block);
  remains.poll();
  const std::uint64_t spilled = remains.region().header().spilled_blocks.load();
  REQUIRE(spilled > 1);
  {
    std::fstream file(std::filesystem::directory_iterator(folder.path())->path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(shm::BlockHeader, variable));
    file.put(77);
    REQUIRE(file.good());
  }
  CHECK_THROWS_WITH(remains.recover(), Catch::Contains("1 datasets that were spilled to") && Catch::Contains("damaged"));
  CHECK(remains.region().header().spilled_blocks.load() == spilled);
  CHECK_THAT(remains.recover(true).at(0),
             Catch::Contains("datasets 89 ") && Catch::Contains("refused:1 1 datasets that were spilled"));
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a spill file that is whole, but not taken, is reported with the reason, and stays when it is given up") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("spill"));
  Remains remains(1, {}, folder.file("spill"));
  for (int block = 0; block < kMany; ++block) remains.write(0, 0, block);
  remains.poll();
  REQUIRE(remains.region().header().spilled_blocks.load() > 0);
  const std::filesystem::path file = std::filesystem::directory_iterator(folder.file("spill"))->path(),
                              other = folder.file("other");
  const bool linked = GENERATE(true, false);
  if (linked) {
    std::filesystem::create_hard_link(file, other);
  } else {
    std::filesystem::rename(file, other);
    std::filesystem::create_symlink(other, file);
  }
  CHECK_THROWS_WITH(remains.recover(), Catch::Contains(linked ? "hard link" : "symbolic link") && !Catch::Contains("gone"));
  (void)remains.recover(true);
  CHECK(std::filesystem::file_size(other) > 0);
}

TEST_CASE("a spill file of which nothing can be used goes when it is given up") {
  const TempFolder folder;
  Remains remains(1, {}, folder.path());
  for (int block = 0; block < kMany; ++block) remains.write(0, 0, block);
  remains.poll();
  REQUIRE(remains.region().header().spilled_blocks.load() > 0);
  std::filesystem::resize_file(std::filesystem::directory_iterator(folder.path())->path(), 1);
  CHECK_THROWS_WITH(remains.recover(), Catch::Contains("cannot be found there"));
  (void)remains.recover(true);
  CHECK(remains.region().unreleased_blocks() == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace damaris::test
