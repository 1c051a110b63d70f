// A basename belongs to one run while that lives, on every way to start without MPI.
#include "recover.hpp"

namespace damaris::test {
namespace {

std::string in_place(const std::string& simulation, const std::string& basename) {
  return "<simulation name='" + simulation +
         "'><architecture><dedicated cores='0'/></architecture><data><layout name='line' type='double' dimensions='16'/><variable "
         "name='x' layout='line'/></data><storage><hdf5 basename='" +
         basename + "'/></storage></simulation>";
}

std::string detached(const std::string& simulation, const std::string& basename) {
  std::string xml = in_place(simulation, basename);
  const std::string none = "<dedicated cores='0'/>";
  return xml.replace(xml.find(none), none.size(), "<clients count='1'/><server finalize-timeout='20s'/>");
}

void write_and_leave(TestClient& client) {
  for (const char* command : {"write 0", "end 0", "finalize"}) client.must(command);
}

}  // namespace

TEST_CASE("two runs without MPI of one basename: the second one is refused, in place and detached, and the first one's data stay") {
  Run place;  // for the folder, and a job that no other test has
  const std::string out = place.folder().file("out");
  std::filesystem::create_directory(out);
  std::filesystem::create_directory_symlink(out, place.folder().file("link"));
  const std::string x = out + "/x", by_link = place.folder().file("link") + "/x";
  const std::pair<std::string, std::string> ways[] = {{in_place("a", x), in_place("b", x)},
                                                      {in_place("a", x), in_place("a", by_link)},
                                                      {in_place("a", x), detached("b", x)},
                                                      {detached("a", x), in_place("b", x)},
                                                      {detached("a", x), detached("b", by_link)}};
  const auto& [first, second] = ways[GENERATE(range(0, 5))];
  const bool with_job = GENERATE(true, false);
  if (!with_job) ::unsetenv("DAMARIS_JOB");
  TestClient one(place.folder().write("one.xml", first));
  one.must("init 0");
  {
    TestClient other(place.folder().write("two.xml", second));
    const Answer answer = other("init 1");
    CHECK(answer.code == DC_E_NO_OUTPUT);
    CHECK_THAT(answer.sentence, Catch::Contains("another run, which is still running"));
  }
  write_and_leave(one);
  ::setenv("DAMARIS_JOB", place.job().c_str(), 1);
  CHECK(wait_until([&] { return !std::filesystem::exists(out + "/.x.lock"); }));
  CHECK(damaris({"verify", out + "/x"}).status == 0);
}

TEST_CASE("in place two processes of one XML share a basename when DAMARIS_JOB says that they are one run, and not without") {
  Run place;
  const std::string config = place.folder().write("run.xml", in_place("a", place.folder().file("x")));
  const bool with_job = GENERATE(true, false);
  if (!with_job) ::unsetenv("DAMARIS_JOB");
  TestClient one(config), other(config);
  one.must("init 0");
  const Answer answer = other("init 1");
  INFO(answer.sentence);
  CHECK(answer.code == (with_job ? DC_OK : DC_E_NO_OUTPUT));
  if (!with_job) CHECK_THAT(answer.sentence, Catch::Contains("set DAMARIS_JOB to the same name in all of its processes"));
  TestClient third(config);
  CHECK(third("init 0").code == DC_E_NO_OUTPUT);  // of an id that is taken
  for (const char* command : {"write 0", "end 0"}) {
    one.must(command);
    if (with_job) other.must(command);
  }
  one.must("finalize");
  if (with_job) other.must("finalize");
  ::setenv("DAMARIS_JOB", place.job().c_str(), 1);
  CHECK(damaris({"verify", place.folder().file("x")}).status == 0);
}

}  // namespace damaris::test
