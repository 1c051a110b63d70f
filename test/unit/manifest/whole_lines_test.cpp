// The lines of a manifest, whatever the file is.
#include "manifest/records.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

#include "core/base/failure.hpp"
#include "support/temp_folder.hpp"

using damaris::manifest::for_whole_lines;
using damaris::test::TempFolder;

namespace {

std::vector<std::string> lines_of(const std::string& path, std::uint64_t from = 0) {
  std::vector<std::string> lines;
  CHECK(for_whole_lines(path, from, [&](const std::string& line) { return lines.push_back(line), true; }));
  return lines;
}

}  // namespace

TEST_CASE("lines are returned whole wherever the blocks of a file end, and an unfinished line is not returned") {
  const TempFolder folder;
  const std::size_t length = GENERATE(as<std::size_t>(), 1, 65534, 65535, 65536, 65537, 200000);
  const std::string first(length, 'a');
  const std::string path = folder.write("record", first + "\n\nb\nunfinished");
  CHECK(lines_of(path) == std::vector<std::string>{first, "", "b"});
  CHECK(lines_of(path, length + 2) == std::vector<std::string>{"b"});
}

TEST_CASE("a manifest that is a link into /proc is refused before a byte is read") {
  const TempFolder folder;
  std::filesystem::create_symlink("/proc/self/status", folder.file("record"));
  CHECK_THROWS_WITH(for_whole_lines(folder.file("record"), 0, [](const std::string&) { return true; }),
                    "cannot read " + folder.file("record") + ": it is not a regular file");
}

TEST_CASE("a file of another kind, with a hole of terabytes, is refused before the memory is full") {
  const TempFolder folder;
  const std::string path = folder.write("record", "a\n");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  std::vector<std::string> lines;
  CHECK_THROWS_WITH(for_whole_lines(path, 0, [&](const std::string& line) { return lines.push_back(line), true; }),
                    Catch::Contains("longer than 256 MiB"));
  CHECK(lines.size() == 1);
}
