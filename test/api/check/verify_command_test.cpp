// The damaris verify command; what it finds is tested with the plugin.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "core/shm/dead_regions.hpp"
#include "support/run_program.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

TEST_CASE("damaris verify names a run that is not there and exits with 2; a damaged record with 1") {
  const TempFolder folder;
  Run run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("damaris verify: '" + folder.file("storm") + "' is not a run: there is no "));
  folder.write("storm.jsonl", "{}\n");
  run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 1);
  CHECK_THAT(run.out, StartsWith("damaged  the manifest: ") && Contains("storm.jsonl:1: a step is damaged: "));
  CHECK_THAT(run_program({"damaris", "verify", "--help"}).out, Contains("Exit status: 0 COMPLETE,"));
}

TEST_CASE("damaris verify notes that the views follow while a step was recorded after them, and finds nothing wrong in that") {
  const TempFolder folder;
  const std::string step = R"({"step":0,"complete":true,"servers":[0],"files":[]})"
                           "\n";
  const std::string view = R"({"view":"storm.h5","bytes":0,"checksum":"crc32:00000000"})"
                           "\n";
  folder.write("storm.h5", "");
  folder.write("storm.jsonl", view + step);
  Run run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("note     views follow: "));
  folder.write("storm.jsonl", step + view);
  run = run_program({"damaris", "verify", folder.file("storm")});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, !Contains("views follow"));
}

TEST_CASE("damaris verify sends no control character of a foreign record to the terminal") {
  const TempFolder folder;
  folder.write("storm.jsonl",
               R"({"step":0,"complete":true,"servers":[0],"files":[{"name":"\u0000\u001b]0;owned\u0007\u009b2J.h5","server":0,)"
               R"("bytes":1,"datasets":[]}]})"
               "\n");
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
  folder.write("a\x1b[2J.jsonl", "");
  folder.write("b.jsonl", "");
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
  std::string record;
  for (int step = 0; step < 3; ++step) {
    record += "{\"step\":" + std::to_string(step) + ",\"complete\":true,\"servers\":[0],\"files\":[";
    for (int server = 0; server < 40; ++server) {
      const std::string name = "storm.n.s" + std::to_string(server) + ".i" + std::to_string(step) + ".h5";
      record += (server > 0 ? "," : "") + ("{\"name\":\"" + name) +
                R"(","server":0,"bytes":1,"datasets":[{"path":"v","variable":"v","extents":[],"raw_bytes":4,"stored_bytes":4,)" +
                R"("checksum":"crc32:00000000"}]})";
    }
    record += "]}\n";
  }
  folder.write("storm.jsonl", record);
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

std::string line_of_run(const std::string& regions, int servers = 1) {
  return R"({"run":"x","format":"damaris-record","format_version":2,"simulation":"s","servers":)" + std::to_string(servers) +
         R"(,"job":"j","regions":")" + regions + "\"}\n";
}

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
  std::string text;
  for (const std::string& regions :
       {std::string("/"), "/precious_" + mark, shm::user_prefix(), shm::user_prefix() + mark, std::string("/damaris."),
        run.substr(0, run.size() - 1), run.substr(0, run.size() - 4) + ".", run + "n0.", std::string("/damaris.*.")})
    text += line_of_run(regions);
  folder.write("m.jsonl", text);
  Run report = run_program({"damaris", "verify", folder.file("m")});
  INFO(report.out << report.err);
  CHECK_THAT(report.out, Contains(": all as recorded\n") && !Contains("/dev/shm"));

  text += line_of_run(run);
  for (int i = 0; i < 3; ++i) text += line_of_run(run);  // listed once
  folder.write("m.jsonl", text);
  report = run_program({"damaris", "verify", folder.file("m")});
  CHECK(report.status == 1);
  const std::size_t first = report.out.find("rm " + own.path());
  CHECK(first != std::string::npos);
  CHECK(report.out.find("rm ", first + 1) == std::string::npos);
}

TEST_CASE("damaris verify says what is in the place of a manifest, and does not wait for it") {
  const TempFolder folder;
  const std::string path = folder.file("b.jsonl");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const std::string& run : {folder.file("b"), path, folder.file("b.h5")}) {
    const Run report = run_program({"damaris", "verify", run});
    INFO(run);
    CHECK(report.status == 2);
    CHECK_THAT(report.err, Contains(path + " is not a regular file"));
    CHECK_THAT(report.err, !Contains("there is no"));
  }
  CHECK_THAT(run_program({"damaris", "verify", folder.path()}).err, Contains(path + " is not a regular file"));
  REQUIRE(::unlink(path.c_str()) == 0);
  REQUIRE(::symlink("nowhere", path.c_str()) == 0);
  CHECK_THAT(run_program({"damaris", "verify", folder.file("b")}).err, Contains(path + " is a link to a file that is not there"));
}

TEST_CASE("a file that another process holds by a lease could not be looked at, and is not damaged", "[unpromised]") {
  const TempFolder folder;
  folder.write("m.jsonl", line_of_run("") + R"({"step":0,"complete":true,"servers":[0],"files":[{"name":"m.n.s0.i0.h5","server":0,)"
                                            R"("bytes":5,"datasets":[]}]})"
                                            "\n");
  const std::string file = folder.write("m.n.s0.i0.h5", "bytes");
  const auto before = ::signal(SIGIO, SIG_IGN);  // the kernel asks the holder to give it back
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  const bool is_leased = ::fcntl(descriptor, F_SETLEASE, F_WRLCK) == 0;
  const Run report = run_program({"damaris", "verify", folder.file("m")});
  ::close(descriptor);
  ::signal(SIGIO, before);
  if (!is_leased) {
    WARN("skipped: this file system has no leases");
    return;
  }
  CHECK(report.status == 1);
  CHECK_THAT(report.out, Contains("unread   step 0: m.n.s0.i0.h5: it cannot be opened: another process holds a lease on it") &&
                             Contains("1 could not be looked at") && !Contains("damaged"));
}
