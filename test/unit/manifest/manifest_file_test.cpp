#include "manifest/manifest_file.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "support/failing_calls.hpp"
#include "support/temp_folder.hpp"

namespace damaris::manifest {
namespace {

using test::FailsOn;
using test::TempFolder;

auto fails_with(int error) {
  return Catch::Predicate<Failure>([error](const Failure& failure) { return failure.system_error() == error; });
}

// Of this process, on files below the folder.
int open_files(const TempFolder& folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone).string().rfind(folder.path().string() + "/", 0) == 0) ++count;
  }
  return count;
}

struct Opened {
  explicit Opened(const TempFolder& folder)
      : record(folder.file("storm.jsonl")), lock(record, "run", "node.s0", false, std::chrono::milliseconds(20)) {
    lock.unlock();
    RunEntry run;
    run.run = run.simulation = "storm";
    run.servers = 1;
    file = std::make_unique<ManifestFile>(record, Existing::append, lock, run);
  }
  std::string record;
  RunLock lock;
  std::unique_ptr<ManifestFile> file;
};

TEST_CASE("a manifest whose state is refused for a while is not taken for one that has gone, and goes on afterwards",
          "[unpromised]") {
  const TempFolder folder;
  const int error = GENERATE(EIO, ETIMEDOUT, ESTALE);
  Opened opened(folder);
  {
    const FailsOn fault(folder.path(), error);
    CHECK_THROWS_MATCHES(opened.file->is_gone(), Failure, fails_with(error));
    CHECK_THROWS_MATCHES(opened.file->append(Json{{"line", 1}}), Failure, fails_with(error));
  }
  CHECK_FALSE(opened.file->is_gone());
  CHECK(opened.file->append(Json{{"line", 2}}));
  opened.file->keep_run();
  CHECK(open_files(folder) == 2);
}

TEST_CASE("a manifest that is closed while its state is refused leaves nothing open", "[unpromised]") {
  const TempFolder folder;
  {
    Opened opened(folder);
    const FailsOn fault(folder.path(), EIO);
    opened.file.reset();
    CHECK(open_files(folder) == 1);  // the lock
  }
  CHECK(open_files(folder) == 0);
  RunLock lock(folder.file("storm.jsonl"), "run", "node.s0", false, std::chrono::milliseconds(20));
  lock.unlock();
  const FailsOn fault(folder.path(), EIO);
  CHECK_THROWS_MATCHES(ManifestFile(folder.file("storm.jsonl"), Existing::append, lock, RunEntry{}), Failure, fails_with(EIO));
  CHECK(open_files(folder) == 1);
}

}  // namespace
}  // namespace damaris::manifest
