// Lines that the manifest refuses: what a recovery knows of them after a kill.
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "manifest/sealed_line.hpp"
#include "support/file_limit.hpp"
#include "support/temp_folder.hpp"
#include "unit/manifest/refused_writer.hpp"
#include "unit/plugins/fake_host.hpp"

namespace damaris::test {
namespace {

constexpr const char* kRegions = "/damaris.storm";

manifest::StepEntry stored_step(std::int64_t number) {
  manifest::StepEntry step;
  step.step = number;
  step.servers = {0};
  manifest::FileEntry file;
  file.name = "storm.node7.s0.i" + std::to_string(number) + ".h5";
  step.files.push_back(file);
  return step;
}

std::vector<Json> lines_about(const std::string& record, std::int64_t step) {
  std::vector<Json> found;
  manifest::for_whole_lines(record, 0, [&](const std::string& line) {
    const Json json = Json::parse(line);
    if (json.value("step", std::int64_t{-1}) == step) found.push_back(json);
    return true;
  });
  return found;
}

struct Server {
  // Under MPI, or detached.
  explicit Server(bool detached) {
    host.place(0, 1);
    host.set_regions(kRegions);
    if (detached) host.cut_off();
  }
  FakeHost host;
};

// After a pause.
bool wait_until_written(manifest::ManifestWriter& writer) {
  const auto until = Clock::now() + std::chrono::seconds(60);
  while (!writer.write() && Clock::now() < until) ::usleep(1'000);
  return !writer.owes_lines();
}

struct Refused : TempFolder {
  Refused() : names(file("storm"), "node7", 0), record(names.of_run(".jsonl")) {}
  std::unique_ptr<manifest::ManifestWriter> writer(Server& server, manifest::WriterOptions options = without_views()) const {
    options.retry_ms = 0;
    return std::make_unique<manifest::ManifestWriter>(*server.host.view(), options, names);
  }
  // The manifest takes no further byte, the shorter list beside it does.
  FileLimit full_manifest() const { return FileLimit(std::filesystem::file_size(record)); }
  std::ptrdiff_t lists() const {
    const auto is_list = [](const auto& entry) { return entry.path().extension() == ".unrecorded"; };
    return std::count_if(std::filesystem::directory_iterator(path()), {}, is_list);
  }

  manifest::FileNames names;
  std::string record;
};

TEST_CASE("a recovery records a stored step whose line was refused with its file, and as nothing else") {
  const Refused folder;
  const bool detached = GENERATE(true, false);
  INFO(detached);
  {
    Server server(detached);
    const auto writer = folder.writer(server);
    writer->report(stored_step(0), Clock::now());
    REQUIRE(writer->write());
    const FileLimit limit = folder.full_manifest();
    writer->report(stored_step(1), Clock::now());
    CHECK_THROWS_WITH(writer->write(), Catch::Contains("step 1 is stored, but the manifest cannot record it"));
    CHECK(folder.lists() == 1);
    CHECK(writer->owes_lines());
  }  // as after a kill: without finish()
  Server recovery(true);
  manifest::WriterOptions options = without_views();
  options.existing = manifest::Existing::recover;
  options.given_up.steps = {1, 2};
  const auto writer = folder.writer(recovery, options);
  const std::vector<Json> stored = lines_about(folder.record, 1), lost = lines_about(folder.record, 2);
  REQUIRE(stored.size() == 1);
  CHECK(stored[0].at("complete") == true);
  CHECK(stored[0].at("files").size() == 1);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].at("complete") == false);
  CHECK(recovery.host.partial == std::vector<std::int64_t>{2});
  CHECK(folder.lists() == 0);
}

TEST_CASE("a stored step that can neither be recorded nor noted is retried beyond the time for it; one without a file is not") {
  const Refused folder;
  Server server(true);
  const auto writer = folder.writer(server);
  writer->report(stored_step(0), Clock::now());
  REQUIRE(writer->write());
  {
    const FileLimit limit(0);
    manifest::StepEntry lost = stored_step(1);
    lost.files.clear();
    writer->report(std::move(lost), Clock::now());
    CHECK_THROWS_AS(writer->write(), Failure);
    writer->report(stored_step(2), Clock::now());
    CHECK_FALSE(writer->write());
    CHECK_THAT(writer->refusal(), Catch::Contains("nor can it be noted beside it"));
  }
  REQUIRE(wait_until_written(*writer));
  for (const std::int64_t step : {1, 2}) CHECK(lines_about(folder.record, step).size() == 1);
  CHECK(folder.lists() == 0);
  CHECK_FALSE(writer->owes_lines());
}

}  // namespace
}  // namespace damaris::test
