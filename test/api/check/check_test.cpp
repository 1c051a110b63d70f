// damaris check, as a person and as a script use it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "core/base/json.hpp"
#include "support/run_program.hpp"

using Catch::Matchers::Contains;
using damaris::Json;
using damaris::test::Run;
using damaris::test::run_program;
using damaris::test::TempFolder;

namespace {

namespace fs = std::filesystem;

fs::path schemas() {
  const char* source = std::getenv("DAMARIS_SOURCE_DIR");
  REQUIRE(source != nullptr);
  return fs::path(source) / "config-schemas";
}

std::vector<fs::path> files(const std::string& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(schemas() / folder)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

Run check(std::vector<std::string> arguments, const std::string& folder = ".") {
  arguments.insert(arguments.begin(), {"damaris", "check"});
  return run_program(arguments, folder);
}

std::string example(const std::string& name) { return (schemas() / "examples" / name).string(); }

// The longest line in characters.
std::size_t widest(const std::string& text) {
  std::size_t most = 0, now = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++now;
    if (c == '\n') now = 0;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

TEST_CASE("check says what a program sets only later, and what a Fortran program must say") {
  const Run particles = check({example("particles.xml")}), staggered = check({example("staggered.xml")});
  INFO(particles.out << staggered.out);
  CHECK_THAT(particles.out, Contains("Not counted are 'particles' (40 bytes an element)"));
  CHECK_THAT(staggered.out, !Contains("dc_set_shape") && !Contains("For arrays of Fortran"));
  const TempFolder folder;
  std::ofstream(folder.file("c.xml"))
      << "<simulation><data><layout name='l' type='int' dimensions='2,3'/><variable name='v' layout='l'/></data></simulation>";
  CHECK_THAT(check({folder.file("c.xml")}).out, Contains("For arrays of Fortran say <simulation language=\"fortran\">"));
}

TEST_CASE("check finds every example valid, and shows it in 80 columns") {
  for (const auto& file : files("examples")) {
    const Run run = check({file.filename().string()}, file.parent_path().string());
    INFO(file << "\n" << run.out << run.err);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Contains(file.filename().string() + " is valid.\n"));
    CHECK(widest(run.out) <= 80);
  }
}

TEST_CASE("check ends with 1 for every invalid file and says on standard error what its first line announces") {
  for (const auto& file : files("invalid")) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    const std::string expected = line.substr(12, line.size() - 12 - 4);  // between "<!-- expect " and " -->"
    const Run run = check({file.filename().string()}, file.parent_path().string());
    INFO(file);
    CHECK(run.status == 1);
    CHECK(run.err == file.filename().string() + ":" + expected + "\n");
    CHECK(run.out.empty());
  }
}

TEST_CASE("check shows how many messages a lane holds, what it takes and how many steps that is") {
  const TempFolder folder;
  const auto with = [](const std::string& lanes) {
    std::string xml =
        "<simulation><architecture><buffer size='64MiB'/>" + lanes + "</architecture><layout name='l' type='int' dimensions='4'/>";
    for (int i = 0; i < 2000; ++i) xml += "<variable name='v" + std::to_string(i) + "' layout='l'/>";
    return xml + "</simulation>";
  };
  const std::string file = folder.write("many.xml", with(""));
  const std::string text = check({file}).out;
  CHECK_THAT(text, Contains("4096 messages of 64 B a client (256 KiB)") && Contains("room for 2 steps of 2000 variables"));
  CHECK(Json::parse(check({file, "--json"}).out).at("sizes").at("lane_messages") == 4096);
  // Each of 1024 clients has room for 512 blocks.
  const std::string crowd = check({file, "--clients", "1024"}).out;
  CHECK_THAT(crowd, Contains("1024 messages of 64 B a client (64 KiB)") && Contains("room for less than a step of 2000"));
  const std::string given = check({folder.write("given.xml", with("<lanes events='2048'/>"))}).out;
  CHECK_THAT(given, Contains("2048 messages of 64 B a client (128 KiB)") && Contains("room for one step of 2000 variables"));
}

TEST_CASE("check shows the model: extents in C order, bytes, what an event does") {
  const Run storm = check({example("staggered.xml")});
  CHECK_THAT(storm.out, Contains("points   real32 (real, float)  42 x 54 x 54 with ghosts  40 x 96 x 96  489,888"));
  CHECK_THAT(storm.out, Contains("mi    int32     54  = ni+2*3"));
  CHECK_THAT(storm.out, Contains("surface/swath  surface  m/s    disabled  strongest wind so far"));
  CHECK_THAT(storm.out, Contains("one client writes per step  2,488,472 bytes  2.4 MiB"));
  const Run galaxy = check({example("particles.xml")});
  CHECK_THAT(galaxy.out, Contains("body     40  position  real64[3]       0"));
  const Run everything = check({example("everything.xml")});
  CHECK_THAT(everything.out, Contains("reduce=relative:1e-3,deflate:1,") && Contains("skipped when full, priority 0,"));
  const Run reactor = check({example("actions.xml")});
  CHECK_THAT(reactor.out, Contains("trouble    on_trouble of actions.so     client"));
  CHECK_THAT(reactor.out, Contains("needs MPI        yes: "));
}

TEST_CASE("check prints the buffer that K steps of N clients need") {
  const Run run = check({example("particles.xml"), "--steps", "3", "--set", "count=1000000"});
  REQUIRE(run.status == 1);
  CHECK_THAT(run.out, Contains("one client writes per step         40,000,000 bytes"));
  CHECK_THAT(run.out, Contains("buffer for 4 clients and 3 steps  960,"));  // 3 x 40 MB x (3+3+1+1) / 1, in pages
  CHECK_THAT(run.out, Contains("The buffer of 512 MiB is too small for that"));
  CHECK_THAT(check({example("minimal.xml"), "-k", "1", "-c", "2"}).out, Contains("buffer for 2 clients and 1 step"));
}

TEST_CASE("check finds a buffer that does not hold the steps not valid, whether or not the number of clients is known") {
  const TempFolder folder;
  const std::string file = folder.write("small.xml",
                                        "<simulation><architecture><buffer size='1MiB'/></architecture><data>"
                                        "<layout name='l' type='double' dimensions='100000'/><variable name='v' layout='l'/></data>"
                                        "<storage><hdf5 basename='x'/></storage></simulation>");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--clients", "3"}, {"--json"}}) {
    std::vector<std::string> arguments = {file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Run run = check(arguments);
    INFO(run.out << run.err);
    CHECK(run.status == 1);
    CHECK_THAT(run.out, !Contains("is valid") && !Contains("up to 0 clients"));
    if (more.size() == 1) CHECK(Json::parse(run.out).at("errors").size() == 1);
  }
  CHECK_THAT(check({file}).err, Contains("<buffer size=\"1048576B\"> is too small for 2 steps of 1 client; give it 1601536 bytes"));
  CHECK_THAT(check({file}).out, Contains("small.xml is not valid."));
  CHECK(check({file, "--steps", "1"}).status == 0);
  CHECK(check({file, "--steps", "1", "--clients", "3"}).status == 1);
}

TEST_CASE("the value that check proposes to try is another one") {
  const TempFolder folder;
  const auto proposal = [&](const char* value) {
    const std::string document =
        std::string("<simulation><data><parameter name='n' type='int8' value='") + value +
        "'/><layout name='l' type='int8' dimensions='n'/><variable name='v' layout='l'/></data></simulation>";
    return check({folder.write("x.xml", document)}).out;
  };
  CHECK_THAT(proposal("50"), Contains("--set n=100"));
  CHECK_THAT(proposal("100"), Contains("--set n=50"));
  CHECK_THAT(proposal("0"), Contains("--set n=100"));
}

TEST_CASE("check refuses wrong usage with 2 and a hint") {
  CHECK(check({}).status == 2);
  CHECK(check({example("minimal.xml"), "--steps", "0"}).status == 2);
  CHECK(check({example("minimal.xml"), "--nonsense"}).status == 2);
  const Run name = check({example("particles.xml"), "--set", "cuont=3"});
  CHECK(name.status == 2);
  CHECK_THAT(name.err, Contains("no parameter 'cuont' is declared; did you mean 'count'?"));
  CHECK(check({example("staggered.xml"), "--set", "nx=3"}).status == 2);
  CHECK(check({example("staggered.xml"), "--set", "ni"}).status == 2);
}

TEST_CASE("check explains itself") {
  const Run run = check({"--help"});
  CHECK(run.status == 0);
  CHECK_THAT(run.out, Contains("--steps") && Contains("--load-plugins") && Contains("Exit status: 0"));
}

TEST_CASE("a missing, an empty and an unreadable file give different errors") {
  const TempFolder folder;
  folder.write("empty.xml", "");
  CHECK_THAT(check({"no.xml"}, folder.path().string()).err, Contains("'no.xml': No such file or directory"));
  CHECK_THAT(check({"empty.xml"}, folder.path().string()).err, Contains("it is empty"));
  CHECK_THAT(check({"."}, folder.path().string()).err, Contains("it is a folder"));
  CHECK(check({"no.xml"}, folder.path().string()).status == 1);
}

TEST_CASE("JSON holds the same, valid or not") {
  const Json good = Json::parse(check({example("particles.xml"), "--json", "--set", "count=10"}).out);
  CHECK(good.at("valid") == true);
  CHECK(good.at("sizes").at("step_bytes_per_client") == 400);
  CHECK(good.at("sizes").at("clients") == 4);
  CHECK(good.at("model").at("simulation") == "galaxy");
  CHECK(good.at("needs_mpi") == false);
  CHECK(good.at("model").at("parameters").at(0).at("type").is_string());
  CHECK(good.at("model").at("compounds").at(0).at("fields").at(0).at("type") == "real64");
  CHECK(good.at("model").at("architecture").at("stale") == "refuse");
  const Json actions = Json::parse(check({example("actions.xml"), "--json"}).out).at("model").at("events").at(0).at("actions");
  CHECK(actions.at(0).at("scope").is_string());
  const Run run = check({(schemas() / "invalid" / "parameter_cycle.xml").string(), "--json"});
  CHECK(run.status == 1);
  const Json bad = Json::parse(run.out);
  CHECK(bad.at("valid") == false);
  CHECK(bad.at("errors").size() == 1);
  CHECK_THAT(bad.at("errors").at(0).get<std::string>(), Contains("a -> b -> c -> a"));
}

TEST_CASE("rule 12: check loads no plugin code unless asked, and names the places of one that is not there") {
  const TempFolder folder;
  const std::string xml = "<simulation><event name='e' action='f' using='mine.so'/></simulation>";
  const std::string file = folder.write("x.xml", xml);
  const Run missing = check({file});
  CHECK(missing.status == 0);
  CHECK_THAT(missing.err,
             Contains("warning: " + file + ":1:13: no plugin 'mine.so'; looked for ") && Contains(folder.file("mine.so")));
  CHECK(check({file, "--load-plugins"}).status == 1);
  // A file that is no shared object: found, but only loading it shows that.
  folder.write("mine.so", "no code");
  const Run found = check({file});
  CHECK(found.status == 0);
  CHECK_THAT(found.err, !Contains("mine.so"));
  const Run loaded = check({file, "--load-plugins"});
  CHECK(loaded.status == 1);
  CHECK_THAT(loaded.err, Contains(file + ":1:13:") && Contains("mine.so"));
}

TEST_CASE("rule 12: a relative plugin is not sought in the working directory") {
  const TempFolder folder, elsewhere;
  const std::string file = folder.write("x.xml", "<simulation><event name='e' action='f' using='mine.so'/></simulation>");
  elsewhere.write("mine.so", "no code");
  CHECK_THAT(check({file}, elsewhere.path().string()).err, Contains("no plugin 'mine.so'"));
}

TEST_CASE("what damaris check shows costs in proportion to its length, and not to its square") {
  const TempFolder folder;
  const std::string config = folder.write(
      "long.xml", "<simulation name='s'><data><layout name='l' type='int' dimensions='1'/><variable name='v' layout='l' unit='" +
                      std::string(8 << 20, 'u') + "'/></data></simulation>");
  const Run run = run_program({"sh", "-c", "ulimit -t 60; exec damaris check \"$0\"", config});
  CHECK(run.status == 0);
  CHECK(std::count(run.out.begin(), run.out.end(), 'u') > 8 << 20);
  CHECK(widest(run.out) <= 80);
}

#ifndef __SANITIZE_ADDRESS__  // which needs more address space than the limit leaves
TEST_CASE("damaris check needs no memory for clients and threads whose buffer has no room for them") {
  const TempFolder folder;
  const std::string config =
      folder.write("many.xml",
                   "<simulation name='s'><architecture><clients count='1048576' threads='256'/></architecture><data><layout "
                   "name='l' type='int' dimensions='1'/><variable name='v' layout='l'/></data></simulation>");
  const Run run = run_program({"sh", "-c", "ulimit -v 1000000; exec damaris check \"$0\"", config});
  CHECK(run.status == 1);
  CHECK_THAT(run.err, Contains("one of 1048576 clients with 256 threads gets 0 B of the buffer"));
}
#endif
