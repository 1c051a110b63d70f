#include "core/base/file.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

using Catch::Matchers::Contains;
using damaris::read_config_file;
using damaris::test::error_of;
using damaris::test::TempFolder;

TEST_CASE("a configuration file is read in full, every byte unchanged") {
  const TempFolder folder;
  const std::string text("a\0b\r\n\xff", 6);
  REQUIRE(read_config_file(folder.write("x.xml", text)) == text);
}

TEST_CASE("a missing file is named, with the file that was probably meant") {
  const TempFolder folder;
  folder.write("storm.xml", "x");
  const auto error = error_of([&] { read_config_file(folder.file("strom.xml")); });
  REQUIRE(error.code() == DC_E_CONFIG);
  REQUIRE(error.sentence() == "cannot read the configuration '" + folder.file("strom.xml") +
                                  "': No such file or directory; did you mean '" + folder.file("storm.xml") + "'?");
}

TEST_CASE("the message for a missing file with a relative path names the working directory") {
  const auto error = error_of([] { read_config_file("no such file.xml"); });
  REQUIRE_THAT(error.sentence(), Contains("(working directory: '") && Contains("No such file or directory"));
}

TEST_CASE("an empty path, an empty file, a folder, a named pipe and a file above 64 MiB are refused with a message") {
  const TempFolder folder;
  REQUIRE_THAT(error_of([] { read_config_file(""); }).sentence(), Contains("no configuration file was named"));
  REQUIRE_THAT(error_of([&] { read_config_file(folder.write("e.xml", "")); }).sentence(),
               Contains("it is empty; a configuration holds one <simulation>"));
  REQUIRE_THAT(error_of([&] { read_config_file(folder.path().string()); }).sentence(), Contains("it is a folder"));
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  REQUIRE_THAT(error_of([&] { read_config_file(folder.file("pipe")); }).sentence(), Contains("it is not a regular file"));
  const std::string huge = folder.write("huge.xml", "<");
  REQUIRE(::truncate(huge.c_str(), (64 << 20) + 1) == 0);
  REQUIRE_THAT(error_of([&] { read_config_file(huge); }).sentence(), Contains("larger than 64 MiB"));
}

TEST_CASE("the digest is that of FNV-1a and differs for texts that differ in one byte") {
  REQUIRE(damaris::digest("") == 0xcbf29ce484222325u);
  REQUIRE(damaris::digest("a") == 0xaf63dc4c8601ec8cu);
  REQUIRE(damaris::digest("<simulation/>") != damaris::digest("<simulation />"));
}
