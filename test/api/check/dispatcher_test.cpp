// The damaris command: which verbs there are, and how it hands over.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "support/run_program.hpp"

using Catch::Matchers::Contains;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

namespace {

// Puts a script `damaris-<verb>` into the folder, and the folder on PATH for as long as this lives.
class OwnVerb {
 public:
  OwnVerb(const std::string& verb, const std::string& script) : path_(std::getenv("PATH")) {
    const std::string file = folder_.write("damaris-" + verb, "#!/bin/sh\n" + script + "\n");
    REQUIRE(::chmod(file.c_str(), 0700) == 0);
    ::setenv("PATH", (path_ + ":" + folder_.path().string()).c_str(), 1);
  }
  ~OwnVerb() { ::setenv("PATH", path_.c_str(), 1); }

 private:
  TempFolder folder_;
  std::string path_;
};

}  // namespace

TEST_CASE("damaris --help lists the verbs that are there, by what they are for, and no others") {
  const Run run = run_program({"damaris", "--help"});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("\nprepare\n  check     "));
  CHECK_THAT(run.out, !Contains("simulate"));
  CHECK_THAT(run_program({"damaris", "help"}).out, Contains("prepare"));
}

TEST_CASE("damaris without a verb is wrong usage and shows the help") {
  const Run run = run_program({"damaris"});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("Usage: damaris VERB"));
}

TEST_CASE("an unknown verb ends with 2 and the nearest one") {
  const Run near = run_program({"damaris", "chekc", "x"});
  CHECK(near.status == 2);
  CHECK(near.err == "damaris: no verb 'chekc'; did you mean 'check'?\n");
  const Run far = run_program({"damaris", "xyzzy"});
  CHECK(far.status == 2);
  CHECK_THAT(far.err, Contains("damaris: no verb 'xyzzy'; there are: check"));
  CHECK(run_program({"damaris", "--bogus"}).status == 2);
}

TEST_CASE("an unknown option is reported as such, also where the file is missing too") {
  for (const char* verb : {"check", "server"}) {
    INFO(verb);
    const Run run = run_program({"damaris", verb, "--nonsense"});
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains("no option '--nonsense'"));
    CHECK_THAT(run_program({"damaris", verb, "a.xml", "b.xml"}).err, Contains("one argument too many, 'b.xml'"));
    CHECK_THAT(run_program({"damaris", verb}).err, Contains("FILE is required"));
  }
}

TEST_CASE("help fits a terminal of 80 columns and names the command as it is called") {
  for (const char* verb : {"check", "server"}) {
    const Run run = run_program({"damaris", verb, "--help"});
    CHECK_THAT(run.out, Contains(std::string("Usage: damaris ") + verb));
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE("where no program is built, damaris says so and not that a verb is unknown") {
  TempFolder folder;
  const std::string copy = folder.path().string() + "/damaris";
  REQUIRE(run_program({"cp", std::string(std::getenv("DAMARIS_BUILD_DIR")) + "/bin/damaris", copy}).status == 0);
  const Run run = run_program({"env", "PATH=/usr/bin:/bin", copy, "check", "x.xml"});
  CHECK(run.status == 2);
  CHECK_THAT(run.err, Contains("no verb 'check': no program of damaris is built or installed in") && Contains("./dev build"));
}

TEST_CASE("a verb that is a path, a pattern or empty is never run") {
  for (const char* verb : {"../check", "/bin/true", "chec*", "", "a b", "$(id)"}) {
    INFO(verb);
    CHECK(run_program({"damaris", verb}).status == 2);
  }
}

TEST_CASE("a program damaris-VERB on PATH is a verb, gets its arguments as they are, and gives its status") {
  const OwnVerb own("echoargs", "for a in \"$@\"; do printf '[%s]' \"$a\"; done; exit 7");
  const Run run = run_program({"damaris", "echoargs", "a b", "", "*", "--help"});
  CHECK(run.out == "[a b][][*][--help]");
  CHECK(run.status == 7);
  CHECK_THAT(run_program({"damaris", "--help"}).out, Contains("\nmore\n") && Contains("  echoargs"));
  CHECK_THAT(run_program({"damaris", "ecoargs"}).err, Contains("did you mean 'echoargs'?"));
}

TEST_CASE("the program beside damaris wins over one on PATH") {
  const OwnVerb own("check", "echo wrong one");
  CHECK_THAT(run_program({"damaris", "check", "--help"}).out, !Contains("wrong one"));
}

TEST_CASE("damaris help VERB is damaris VERB --help") {
  CHECK(run_program({"damaris", "help", "check"}).out == run_program({"damaris", "check", "--help"}).out);
}

TEST_CASE("damaris works through a symbolic link") {
  const TempFolder folder;
  const Run where = run_program({"sh", "-c", "command -v damaris"});
  const std::string target = where.out.substr(0, where.out.find('\n'));
  std::filesystem::create_symlink(std::filesystem::absolute(target), folder.file("dam aris"));
  CHECK(run_program({folder.file("dam aris"), "check", "--help"}).status == 0);
}

TEST_CASE("what damaris does not know comes back without control characters, also where the shell would make some of a backslash") {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"damaris", "-x\x1b[31m\xc2\x9bm"},
                                                  {"damaris", "x\x1b[31m\xc2\x9bm"},
                                                  {"damaris", "-x\\033[31m\\007"},
                                                  {"damaris", "x\\033[31m\\007"},
                                                  {"damaris", "help", "x\x1b[31m\xc2\x9bm"}}) {
    INFO(command.back());
    const Run run = run_program(command);
    CHECK(run.status == 2);
    CHECK_THAT(run.err, Contains("[31m"));
    for (const char* one : {"\x1b", "\a", "\x9b"}) CHECK_THAT(run.err, !Contains(one));
  }
  CHECK_THAT(run_program({"damaris", "-\xc3\xa4"}).err, Contains("'-\xc3\xa4'"));
}
