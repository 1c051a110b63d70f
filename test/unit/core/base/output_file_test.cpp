// A file of the run until it has its name: what is left of one that never gets it, and of one that does not fit.
#include "core/base/output_file.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>

#include "support/failing_calls.hpp"
#include "support/file_limit.hpp"
#include "support/taken_descriptor.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;
using damaris::Failure;
using damaris::OutputFile;
using damaris::test::FailsOn;
using damaris::test::FileLimit;
using damaris::test::TakenDescriptor;
using damaris::test::TempFolder;

namespace {

// Of this process, on files below the folder.
int open_files(const TempFolder& place) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone).string().rfind(place.path().string() + "/", 0) == 0) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a file that is given up leaves nothing, even if its folder has been moved in the meantime") {
  const TempFolder place;
  const fs::path out = place.path() / "out", elsewhere = place.path() / "elsewhere";
  const bool moved = GENERATE(false, true);
  fs::create_directory(out);
  {
    const OutputFile file(out / ".f.tmp", out / "f");
    REQUIRE(fs::exists(file.temporary_path()));
    if (moved) fs::rename(out, elsewhere);
  }
  CHECK(fs::is_empty(moved ? elsewhere : out));
}

TEST_CASE("a write that the system cuts short continues, and fails if the rest does not fit") {
  const TempFolder place;
  OutputFile file(place.file(".f.tmp"), place.file("f"));
  const FileLimit limit(16);
  file.append("0123456789");
  CHECK_THROWS_AS(file.append("0123456789"), Failure);
  CHECK(fs::file_size(file.temporary_path()) == 16);
}

TEST_CASE("a file whose descriptor another one has is given up, and the other one stays open and as it is", "[unpromised]") {
  const TempFolder place;
  std::optional<OutputFile> file(std::in_place, place.file(".f.tmp"), place.file("f"));
  file->append("0123456789");
  const TakenDescriptor other(".f.tmp.", place.file("other"));
  CHECK_THROWS_WITH(file->append("0123456789"), Catch::Contains("another part of this process has closed its descriptor"));
  CHECK_THROWS_AS(file->publish(true), Failure);
  const std::string path = file->temporary_path();
  file.reset();
  CHECK_FALSE(fs::exists(path));
  CHECK_FALSE(fs::exists(place.file("f")));
  CHECK(other.is_open());
  CHECK(other.text() == TakenDescriptor::kText);
}

TEST_CASE("a file whose state is refused for a while goes on afterwards, and is closed also if it is given up meanwhile",
          "[unpromised]") {
  const TempFolder place;
  const int error = GENERATE(EIO, ETIMEDOUT, ESTALE);
  const auto fails_with_it = Catch::Predicate<Failure>([&](const Failure& failure) { return failure.system_error() == error; });
  std::optional<OutputFile> file;
  SECTION("from the beginning") {
    const FailsOn fault(place.path(), error);
    file.emplace(place.file(".f.tmp"), place.file("f"));
    CHECK_THROWS_MATCHES(file->append("01"), Failure, fails_with_it);
    CHECK_THROWS_MATCHES(file->publish(true), Failure, fails_with_it);
    file.reset();
  }
  SECTION("later") {
    file.emplace(place.file(".f.tmp"), place.file("f"));
    {
      const FailsOn fault(place.path(), error);
      CHECK_THROWS_MATCHES(file->append("01"), Failure, fails_with_it);
      CHECK_THROWS_MATCHES(file->publish(true), Failure, fails_with_it);
    }
    file->append("23");
    CHECK(fs::file_size(file->temporary_path()) == 2);
    const FailsOn fault(place.path(), error);
    file.reset();
  }
  CHECK(open_files(place) == 0);
  CHECK(fs::is_empty(place.path()));
}
