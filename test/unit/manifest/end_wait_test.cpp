// A process that ends with many steps, while another one holds the run's lock.
#include <damaris/error.hpp>

#include <catch2/catch.hpp>

#include "core/base/failure.hpp"
#include "support/temp_folder.hpp"
#include "unit/manifest/refused_writer.hpp"
#include "unit/plugins/fake_host.hpp"

namespace damaris::test {
namespace {

TEST_CASE("at the end the wait for the run's lock is one for all steps that are left, not one for each") {
  const TempFolder folder;
  FakeHost host;
  host.place(0, 1);
  host.cut_off();
  const manifest::FileNames names(folder.file("storm"), "node7", 0);
  manifest::WriterOptions options = without_views();
  options.end_wait_ms = 1'000;
  manifest::ManifestWriter writer(*host.view(), options, names);
  const auto report = [&](std::int64_t step) {
    manifest::StepEntry entry;
    entry.step = step;
    entry.servers = {0};
    writer.report(std::move(entry), Clock::now());
  };
  report(0);
  REQUIRE(writer.write());
  const auto begun = Clock::now();
  {
    const TakenLock taken(folder.file(".storm.lock"));
    for (std::int64_t step = 1; step <= 40; ++step) {
      report(step);
      CHECK_THROWS_AS(writer.write(true), Failure);
    }
    CHECK_THROWS_AS(writer.finish(false), Failure);
  }
  CHECK(seconds_since(begun) < 20);
}

}  // namespace
}  // namespace damaris::test
