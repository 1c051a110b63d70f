// The damaris verify command; what it finds is tested with the plugin.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "core/shm/dead_regions.hpp"
#include "support/run_program.hpp"
#include "unit/manifest/hand_log.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using damaris::test::HandLog;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

TEST_CASE("damaris verify names a run that is not there and exits with 2; a damaged record with 1") {
  const TempFolder folder;
  Run run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("damaris verify: '" + folder.file("storm") + "' is not a run: there is no "));
  folder.write("storm.g1.n.s0.jsonl", "{}\n");
  run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, StartsWith("damaged  the manifest: ") && Contains("storm.g1.n.s0.jsonl:1: this line is damaged: "));
  CHECK_THAT(run_program({"damaris", "verify", "--help"}).out, Contains("Exit status: 0 COMPLETE,"));
}

TEST_CASE("damaris verify notes that the views follow while a step was recorded after them, and finds nothing wrong in that") {
  const TempFolder folder;
  folder.write("storm.h5", "");
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  log.add(damaris::manifest::view_record({"storm.h5", 0, 0}, 0));
  log.passes(0);
  log.ends();
  Run run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("note     views follow: "));
  log.add(damaris::manifest::view_record({"storm.h5", 0, 0}, 1));
  run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, !Contains("views follow"));
}

TEST_CASE("damaris verify sends no control character of a foreign record to the terminal") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  damaris::manifest::StepEntry step;
  step.files.emplace_back().name = std::string(
      "\0\x1b]0;owned\x07\xc2\x9b"
      "2J.h5",
      17);
  step.files.back().datasets.emplace_back();
  log.add(step);
  folder.write("storm.\x1b[2J.s0.i0.h5", "");
  const Run run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, Contains("??]0;owned?") && Contains("storm.?[2J.s0.i0.h5"));  // what comes behind it, too
  for (const char* one : {"\x1b", "\a", "\xc2\x9b"}) CHECK_THAT(run.out, !Contains(one));
}

TEST_CASE("arguments with control characters come back without them, from every program") {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"damaris", "verify", "a", "\x1b]0;owned\a"}, {"damaris", "\x1b]0;owned\a"}}) {
    const Run run = run_program(command);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains("]0;owned") && !Contains("\x1b") && !Contains("\a"));
  }
}

TEST_CASE("a report that cannot be written is a failure") {
  const TempFolder folder;
  const std::string config = folder.write("run.xml", "<simulation name='run'/>");
  const Run run = run_program({"sh", "-c", "exec damaris check \"$0\" > /dev/full", config});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("the report could not be written: No space left on device"));
}

TEST_CASE("nor do its errors, nor damaris check, which shows a foreign configuration") {
  const TempFolder folder;
  folder.write("a\x1b[2J.g1.n.s0.jsonl", "");
  folder.write("b.g1.n.s0.jsonl", "");
  const std::string xml =
      folder.write("k.xml",
                   "<?xml version='1.1'?><simulation name='s'><data><layout name='l' type='int' dimensions='1'/>"
                   "<variable name='v' layout='l' unit='K&#27;]0;owned&#7;' description='&#x9b;2J'/></data></simulation>");
  for (const Run& run :
       {run_program({"damaris", "verify", folder.path()}), run_program({"damaris", "verify", folder.file("a\x1b[2J")}),
        run_program({"damaris", "check", xml}), run_program({"damaris", "check", folder.file("\x1b[2J.xml")})}) {
    INFO(run.out << run.err);
    CHECK_THAT(run.out + run.err, Contains("?"));
    for (const char* one : {"\x1b", "\a", "\xc2\x9b"}) CHECK_THAT(run.out + run.err, !Contains(one));
  }
}

TEST_CASE("damaris verify --views tells of a view whose files are more than may be open, and what to do") {
  const TempFolder folder;
  HandLog log(folder.file("storm"), {1, "n", 0}, 1);
  for (int number = 0; number < 3; ++number) {
    damaris::manifest::StepEntry step;
    step.step = number;
    for (int server = 0; server < 40; ++server) {
      step.files.emplace_back().name = "storm.n.s" + std::to_string(server) + ".i" + std::to_string(number) + ".h5";
      damaris::manifest::DatasetEntry& dataset = step.files.back().datasets.emplace_back();
      dataset.path = dataset.variable = "v";
    }
    log.add(step);
  }
  const auto verify = [&](const std::string& limit, const std::string& option) {
    return run_program({"sh", "-c", "ulimit -Sn " + limit + "; damaris verify " + option + " " + folder.file("storm")});
  };
  CHECK_THAT(verify("150", "--views").out,
             Contains("files    /v: a read of all of it opens 120 files (40 in one step) and the limit here is 150") &&
                 Contains("say 'ulimit -n 184' before reading, or read at most 2 steps before the file is closed"));
  CHECK_THAT(verify("150", "").out, !Contains("files    "));
  CHECK_THAT(verify("184", "--views").out, !Contains("files    "));
}

namespace {

// A closed file of this user in /dev/shm that holds no region.
class ShmFile {
 public:
  explicit ShmFile(std::string name) : name_(std::move(name)) {
    const int descriptor = ::open(path().c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(descriptor >= 0);
    REQUIRE(::write(descriptor, "pages of a database", 19) == 19);
    ::close(descriptor);
  }
  ~ShmFile() { ::unlink(path().c_str()); }
  std::string path() const { return "/dev/shm" + name_; }

 private:
  std::string name_;
};

}  // namespace

TEST_CASE("a foreign manifest cannot make damaris verify look at files in /dev/shm that are no regions of its runs") {
  namespace shm = damaris::shm;
  const TempFolder folder;
  const std::string mark = folder.path().filename().string();
  const std::string run = shm::run_prefix({"verify", folder.path().string()}, 7);
  const ShmFile precious("/precious_" + mark), own(run + "n0.s0"), other(shm::user_prefix() + mark);
  HandLog log(folder.file("m"), {1, "n", 0}, 0);
  const auto come_back_with = [&](const std::string& regions) { log.add(damaris::Json{{"back", ""}, {"regions", regions}}); };
  for (const std::string& regions :
       {std::string("/"), "/precious_" + mark, shm::user_prefix(), shm::user_prefix() + mark, std::string("/damaris."),
        run.substr(0, run.size() - 1), run.substr(0, run.size() - 4) + ".", run + "n0.", std::string("/damaris.*.")})
    come_back_with(regions);
  Run report = run_program({"damaris", "verify", folder.file("m")});
  INFO(report.out << report.err);
  CHECK_THAT(report.out, Contains(": all as recorded\n") && !Contains("/dev/shm"));

  for (int i = 0; i < 4; ++i) come_back_with(run);  // listed once
  report = run_program({"damaris", "verify", folder.file("m")});
  CHECK(report.status == 1);
  const std::size_t first = report.out.find("rm " + own.path());
  CHECK(first != std::string::npos);
  CHECK(report.out.find("rm ", first + 1) == std::string::npos);
}

TEST_CASE("damaris verify says what is in the place of a log, and does not wait for it") {
  const TempFolder folder;
  const std::string path = folder.file("b.g1.n.s0.jsonl");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const std::string& run : {folder.file("b"), path, folder.path().string()}) {
    const Run report = run_program({"damaris", "verify", run});
    INFO(run);
    CHECK(report.status == 1);
    CHECK_THAT(report.err, Contains(path + ": it is not a regular file"));
  }
}
