// Which plugins the server does not load, whoever names them.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "node.hpp"

namespace damaris::test {
namespace {

// The folder where the tests' plugins are.
std::filesystem::path recorder() {
  const std::string path = std::getenv("DAMARIS_PLUGIN_PATH");
  return std::filesystem::path(path.substr(0, path.find(':'))) / "damaris_test_recorder.so";
}

model::Model with_plugin(const std::string& library) {
  model::Model model = node_model();
  add_recorder(model);
  model.plugins[0].library = library;
  model.plugins[0].where = {3, 4};
  return model;
}

}  // namespace

TEST_CASE("a plugin that anyone may write or replace is not loaded") {
  const TempFolder folder;
  const std::string library = folder.file("mine.so");
  std::filesystem::copy_file(recorder(), library);
  REQUIRE(::chmod(library.c_str(), 0755) == 0);
  const auto refusal = [&] { return error_of([&] { Node node(with_plugin(library)); }); };
  const auto sentence = [&](const std::string& part) {
    return "node.xml:3:4: " + library + " is not loaded: " + part +
           " may be written or replaced by anyone; take that right away ('chmod o-w' of it and of the folder it is in) or put the "
           "plugin elsewhere";
  };
  SECTION("the file") {
    REQUIRE(::chmod(library.c_str(), 0757) == 0);
    CHECK(refusal().code() == DC_E_PLUGIN);
    CHECK(refusal().sentence() == sentence(library));
  }
  SECTION("the folder") {
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
    CHECK(refusal().sentence() == sentence(library));
  }
  SECTION("a folder above its folder") {
    std::filesystem::create_directory(folder.file("below"));
    const std::string deep = folder.file("below/mine.so");
    std::filesystem::rename(library, deep);
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
    const Error error = error_of([&] { Node node(with_plugin(deep)); });
    CHECK_THAT(error.sentence(), Catch::Contains(folder.file("below") + " may be written or replaced by anyone"));
  }
  SECTION("the configuration that names it") {
    model::Model model = with_plugin(library);
    model.file = folder.write("open.xml", "<simulation name='a'/>");
    REQUIRE(::chmod(model.file.c_str(), 0666) == 0);
    CHECK_THAT(error_of([&] { Node node(model); }).sentence(), Catch::Contains(folder.file("open.xml") + " may be written"));
  }
  SECTION("nor someone else's in a folder where anyone may put one") {
    if (::geteuid() != 0) {
      WARN("skipped: only root can give a file away");
      return;
    }
    REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
    REQUIRE(::chown(library.c_str(), 65534, 65534) == 0);
    CHECK(refusal().sentence() == sentence(library));
  }
  SECTION("but our own there") {
    REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
    CHECK_NOTHROW(Node(with_plugin(library)));
  }
}

}  // namespace damaris::test
