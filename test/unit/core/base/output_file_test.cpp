// A file of the run until it has its name: what is left of one that never gets it, and of one that does not fit.
#include "core/base/output_file.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "support/file_limit.hpp"
#include "support/temp_folder.hpp"

namespace fs = std::filesystem;
using damaris::Failure;
using damaris::OutputFile;
using damaris::test::FileLimit;
using damaris::test::TempFolder;

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
