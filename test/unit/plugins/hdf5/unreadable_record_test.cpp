// A manifest that cannot be read for a moment is not one without lines.
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "manifest/reader.hpp"
#include "manifest/unrecorded.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;

namespace {

// This process opens nothing any more.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_ = {};
};

// UBSan looks at the first exception of a type through a pipe, which it cannot open where there are no more files.
void fail_in_plugin_and_test() {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("gone"));
  ServerOf server(folder.file("gone/storm"));
  std::filesystem::remove_all(folder.file("gone"));
  CHECK(server.store(0) != DC_OK);
  CHECK_THROWS_AS(throw damaris::Failure("", 0), damaris::Failure);
}

}  // namespace

TEST_CASE("a run whose manifest cannot be read at its end does not remove its lines") {
  const TempFolder folder;
  {
    fail_in_plugin_and_test();
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(0) == DC_OK);
    const NoMoreFiles limit;
    CHECK(server.plugin->finalize() != DC_OK);
    server.plugin.reset();
  }
  damaris::manifest::Reader record(folder.file("storm.jsonl"));
  record.read_on();
  CHECK(record.steps().size() == 1);
  CHECK(std::filesystem::exists(folder.file("storm.s0.i0.h5")) + std::filesystem::exists(folder.file("storm.node7.s0.i0.h5")) == 1);
}

TEST_CASE("a run that continues where the manifest cannot be read does not begin") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(0) == DC_OK);
  }
  const auto reads = [&] { return damaris::manifest::outline_of(folder.file("storm.jsonl")).mentions_steps; };
  REQUIRE(reads());
  {
    const NoMoreFiles limit;
    CHECK_THROWS_AS(reads(), damaris::Failure);
  }
  CHECK(reads());
}

TEST_CASE("lists of unrecorded steps that cannot be read do not count as missing") {
  const TempFolder folder;
  damaris::manifest::UnrecordedSteps notes(damaris::manifest::FileNames(folder.file("storm"), "node7", 1), {"", 1}, "");
  damaris::manifest::StepEntry step;
  step.servers = {1};
  notes.add(to_json(step));
  REQUIRE(notes.exists());
  const NoMoreFiles limit;
  CHECK_THROWS_AS(notes.exists(), damaris::Failure);
}
