// When the views of a run are written, what they cost, and what happens when they cannot be.
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <damaris/error.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "core/base/json.hpp"
#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/views/run_views.hpp"
#include "support/peak_memory.hpp"
#include "support/temp_folder.hpp"
#include "unit/manifest/hand_log.hpp"
#include "unit/plugins/fake_host.hpp"
#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/hdf5/read_file.hpp"

using namespace damaris;
using namespace damaris::test;
using Catch::Matchers::Contains;
using hdf5::RunViews;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t kMuch = std::uint64_t{1} << 40;

// A clock of which each look takes some time: a view is looked at before and after it is written.
Clock::time_point the_time;
seconds each_look;
Clock::time_point look() { return the_time += each_look; }

manifest::StepEntry entry_of(std::int64_t step, std::optional<double> scale = {}) {
  manifest::DatasetEntry dataset;
  dataset.path = dataset.variable = "v";
  dataset.has_position = true;
  dataset.box.ndims = 1;
  dataset.box.high[0] = 2;
  dataset.scale = scale;
  if (scale) dataset.min = dataset.max = dataset.offset = 1;
  manifest::StepEntry record;
  record.step = step;
  record.files.resize(1);
  record.files[0].name = "storm.node7.s0.i" + std::to_string(step) + ".h5";
  record.files[0].datasets = {dataset};
  return record;
}

struct Views {
  Views() : host(damaris::test::Settings{}, variables) {}

  std::string record() const { return folder.file("storm"); }
  void add_step(std::optional<double> scale = {}) { add(record(), entry_of(steps++, scale)); }
  static void add(const std::string& basename, const manifest::StepEntry& step) { HandLog(basename, {1, "node7", 0}, 0).add(step); }
  int complete() const { return ReadFile(folder.file("storm.h5")).attribute<std::int32_t>("/", "complete")[0]; }
  std::size_t shown() const { return ReadFile(folder.file("storm.h5")).extents("v")[0]; }

  hdf5::QuietErrors quiet;
  TempFolder folder;
  std::vector<dc_variable_info_t> variables = {variable_info(0, "v", DC_INT32, 1)};
  FakeHost host;
  std::int64_t steps = 0;
};

// As the server does when it has nothing else to do.
RunViews::Work update(RunViews& views) {
  views.manifest_changed();
  RunViews::Work work = views.work();
  while (work == RunViews::Work::more) work = views.work();
  return work;
}

// A process that has ended. It keeps its number until its parent waits for it.
class DeadProcess {
 public:
  explicit DeadProcess(bool keeps_number) : id_(::fork()), keeps_number_(keeps_number) {
    if (id_ == 0) ::_exit(0);
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | (keeps_number ? WNOWAIT : 0));
  }
  ~DeadProcess() {
    if (keeps_number_) ::waitpid(id_, nullptr, 0);
  }
  DeadProcess(const DeadProcess&) = delete;
  DeadProcess& operator=(const DeadProcess&) = delete;
  int id() const { return id_; }

 private:
  pid_t id_;
  bool keeps_number_;
};

}  // namespace

TEST_CASE("the views at the end of a run are complete, but not after a recovery: the job died") {
  Views run;
  const bool died = GENERATE(false, true);
  RunViews views(*run.host.view(), run.record(), kMuch, look, {}, died);
  run.add_step();
  views.finish();
  CHECK(run.complete() == (died ? 0 : 1));
}

TEST_CASE("the views are left unchanged while the last update took more than a twentieth of the time since") {
  Views run;
  each_look = seconds(1);  // so that each piece takes one second: the beginning, the times, one array, the end
  RunViews views(*run.host.view(), run.record(), kMuch, look);
  run.add_step();
  update(views);
  CHECK(run.shown() == 1);
  the_time += seconds(78);  // and one until the look
  run.add_step();
  CHECK(update(views) == RunViews::Work::later);
  CHECK(run.shown() == 1);
  CHECK(update(views) == RunViews::Work::none);  // now it is eighty
  CHECK(run.shown() == 2);
  run.add_step();
  views.finish();
  CHECK(run.shown() == 3);
}

TEST_CASE("a run that grows while its view is recorded is shown next") {
  Views run;
  each_look = seconds(0);
  std::unique_ptr<RunViews> views;
  bool is_new = false;
  const auto tell = [&](const manifest::ViewEntry&, std::uint64_t shown) {
    if (std::exchange(is_new, true)) return;
    CHECK(shown == 1);
    run.add_step();
    run.add_step();
    views->manifest_changed();
  };
  views = std::make_unique<RunViews>(*run.host.view(), run.record(), kMuch, look, tell);
  run.add_step();
  views->manifest_changed();
  const bool at_the_end = GENERATE(false, true);
  if (at_the_end) {
    views->finish();
  } else {
    while (views->work() == RunViews::Work::more) {
    }
    CHECK(run.shown() == 1);
    while (views->work() != RunViews::Work::none) {
    }
  }
  CHECK(is_new);
  CHECK(run.shown() == 3);
}

TEST_CASE("the views are written in pieces, and new lines of the manifest are shown the next time") {
  Views run;
  each_look = seconds(0);
  RunViews views(*run.host.view(), run.record(), kMuch, look);
  CHECK(views.work() == RunViews::Work::none);
  run.add_step();
  views.manifest_changed();
  for (int piece = 0; piece < 3; ++piece) {
    CHECK(views.work() == RunViews::Work::more);
    CHECK_FALSE(std::filesystem::exists(run.folder.file("storm.h5")));
    if (piece > 0) continue;
    run.add_step();
    views.manifest_changed();
  }
  CHECK(views.work() == RunViews::Work::later);
  CHECK(run.shown() == 1);
  update(views);
  CHECK(run.shown() == 2);
  CHECK(views.work() == RunViews::Work::none);
  run.add_step();
  views.manifest_changed();
  CHECK(views.work() == RunViews::Work::more);
  views.finish();  // in the middle of them
  CHECK(run.shown() == 3);
}

TEST_CASE("views that cannot be written are logged, tried again, and an error only at the end") {
  Views run;
  each_look = seconds(0);
  RunViews views(*run.host.view(), run.record(), kMuch, look);
  run.add_step();
  update(views);
  std::filesystem::remove(run.folder.file("storm.h5"));
  std::filesystem::create_directory(run.folder.file("storm.h5"));  // nothing can be renamed to that
  run.add_step();
  update(views);
  REQUIRE(run.host.lines.size() == 1);
  CHECK(run.host.lines[0].first == 1);
  CHECK_THAT(run.host.lines[0].second, Contains("storm.h5 does not show the last steps yet"));
  CHECK_THROWS_WITH(views.finish(), Contains("does not show the whole run: "));
  std::filesystem::remove(run.folder.file("storm.h5"));
  update(views);
  CHECK(run.shown() == 2);
  CHECK(std::distance(std::filesystem::directory_iterator(run.folder.path()), std::filesystem::directory_iterator()) ==
        3);  // with the manifest
}

TEST_CASE("a view whose name another user takes during the run is named with its owner as the cause, and no other remedy") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can be two users");
    return;
  }
  const std::string suffix = GENERATE(".h5", ".xmf");
  const bool is_folder = GENERATE(false, true);
  constexpr uid_t kOwn = 54321, kOther = 65534;
  Views run;
  each_look = seconds(0);
  std::filesystem::permissions(run.folder.path(), std::filesystem::perms(01777));
  REQUIRE(::seteuid(kOwn) == 0);
  RunViews views(*run.host.view(), run.record(), kMuch, look);
  REQUIRE(::seteuid(0) == 0);
  run.add_step();
  for (const auto& entry : std::filesystem::directory_iterator(run.folder.path()))
    REQUIRE(::chown(entry.path().c_str(), kOwn, kOwn) == 0);
  const std::string taken = is_folder ? run.folder.file("storm" + suffix) : run.folder.write("storm" + suffix, "");
  if (is_folder) std::filesystem::create_directory(taken);
  REQUIRE(::chown(taken.c_str(), kOther, kOther) == 0);
  REQUIRE(::seteuid(kOwn) == 0);
  update(views);
  std::string refusal;
  try {
    views.finish();
  } catch (const Error& error) {
    refusal = error.sentence();
  }
  REQUIRE(::seteuid(0) == 0);
  REQUIRE(run.host.lines.size() == 1);
  for (const std::string& told : {run.host.lines[0].second, refusal})
    CHECK_THAT(told, Contains("the view " + taken) && Contains("belongs to user 65534") && Contains("have it moved away") &&
                         !Contains("free space"));
}

TEST_CASE("the views of a server that finishes first are replaced by those of the last, even if both write at once") {
  Views run;
  each_look = seconds(0);
  static Views* other;
  other = &run;
  // The other server adds its line and writes while this one is between reading and renaming.
  const auto interrupt = [] {
    if (other->steps == 1) {
      other->add_step();
      RunViews(*other->host.view(), other->record(), kMuch).finish();
      CHECK(other->shown() == 2);
    }
    return the_time;
  };
  run.add_step();
  RunViews(*run.host.view(), run.record(), kMuch, interrupt).finish();
  CHECK(run.shown() == 2);
}

TEST_CASE("a damaged manifest is logged and does not stop the run") {
  Views run;
  each_look = seconds(0);
  run.folder.write("storm.g1.node7.s0.jsonl", "no JSON\n");
  RunViews views(*run.host.view(), run.record(), kMuch, look);
  update(views);
  REQUIRE(run.host.lines.size() == 1);
  CHECK_THAT(run.host.lines[0].second, Contains("storm.g1.node7.s0.jsonl:1: this line is damaged"));
}

TEST_CASE("half-written views of a killed server are removed at the start, those of others are not") {
  Views run;
  const DeadProcess server(GENERATE(false, true));
  const std::string dead = std::to_string(server.id());
  for (const std::string name : {".storm.h5.node7.tmp.", ".storm.xmf.node7.tmp.", ".storm.h5.node8.tmp.", ".storm2.h5.node7.tmp."})
    run.folder.write(name + dead, "");
  run.folder.write(".storm.h5.node7.tmp." + std::to_string(::getpid()), "");
  const RunViews views(*run.host.view(), run.record(), kMuch);
  const auto exists = [&](const std::string& name) { return std::filesystem::exists(run.folder.file(name)); };
  CHECK_FALSE(exists(".storm.h5.node7.tmp." + dead));
  CHECK_FALSE(exists(".storm.xmf.node7.tmp." + dead));
  CHECK(exists(".storm.h5.node8.tmp." + dead));
  CHECK(exists(".storm2.h5.node7.tmp." + dead));
  CHECK(exists(".storm.h5.node7.tmp." + std::to_string(::getpid())));
}

TEST_CASE("for a manifest that outgrows its memory the views show what fitted, and the log says so once") {
  Views run;
  each_look = seconds(1);
  RunViews views(*run.host.view(), run.record(), 100 << 10, look);  // room for two steps
  run.add_step();
  update(views);
  CHECK(run.complete() == 0);
  the_time += seconds(18);
  run.add_step();
  CHECK(update(views) == RunViews::Work::later);
  CHECK(run.shown() == 1);
  for (int i = 0; i < 3; ++i) {
    the_time += seconds(100);
    run.add_step();
    update(views);
  }
  views.finish();
  CHECK(run.shown() == 2);
  CHECK(ReadFile(run.folder.file("storm.h5")).attribute<std::int64_t>("/", "shown_until")[0] == 1);
  CHECK(run.complete() == 0);
  REQUIRE(run.host.lines.size() == 1);
  CHECK_THAT(run.host.lines[0].second, Contains("show only steps up to 1") && Contains("memory=\"...\"") && Contains("per-group"));
}

TEST_CASE("views that are written at the end are marked as complete") {
  Views run;
  each_look = seconds(0);
  run.add_step();
  run.add_step();
  RunViews(*run.host.view(), run.record(), kMuch, look).finish();
  CHECK(ReadFile(run.folder.file("storm.h5")).attribute<std::int64_t>("/", "shown_until")[0] == 1);
  CHECK(run.complete() == 1);
  CHECK(run.host.lines.empty());
}

TEST_CASE("a variable of 16 bits that cannot be shown is logged once") {
  Views run;
  each_look = seconds(0);
  RunViews views(*run.host.view(), run.record(), kMuch, look);
  for (const double scale : {1.0, 2.0, 3.0}) {
    run.add_step(scale);
    update(views);
  }
  views.finish();
  REQUIRE(run.host.lines.size() == 1);
  CHECK(run.host.lines[0].first == 1);
  CHECK_THAT(run.host.lines[0].second,
             Contains("storm.h5 does not show 'v': its 16-bit parts have different scales") && Contains("float16:SCALE:OFFSET"));
}

TEST_CASE("a basename that the readers of XDMF cannot open has a master file and no XDMF file, and the log says so") {
  for (const std::string stem : {"12:30", "a\\b", "St\xc3\xb6rme", " storm"}) {
    Views run;
    each_look = seconds(0);
    const std::string record = run.folder.file(stem);
    Views::add(record, entry_of(0));
    RunViews(*run.host.view(), record, kMuch, look).finish();
    CHECK(std::filesystem::exists(run.folder.file(stem + ".h5")));
    CHECK_FALSE(std::filesystem::exists(run.folder.file(stem + ".xmf")));
    REQUIRE(run.host.lines.size() == 1);
    CHECK_THAT(run.host.lines[0].second, Contains("no XDMF file is written") && Contains("'" + stem + "'"));
  }
}

// In a process of its own: what others took before does not count.
TEST_CASE("views of a large manifest take no more memory than calculated") {
  if (!kMemoryIsOurs) {
    WARN("skipped: a sanitizer takes memory of its own");
    return;
  }
  constexpr std::uint64_t kReckoned = std::uint64_t{2000} * (41 << 10);
  Views run;
  each_look = seconds(0);
  for (HandLog log(run.record(), {1, "node7", 0}, 0); run.steps < 2000; ++run.steps) log.add(entry_of(run.steps));
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t before = peak_bytes();
    RunViews(*run.host.view(), run.record(), kReckoned, look).finish();
    const std::uint64_t taken = peak_bytes() - before;
    ::_exit(taken > kReckoned ? 1 : taken < kReckoned / 100 ? 2 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);  // 1: it took more; 2: nothing was measured
  CHECK(run.shown() == 2000);
}
