// What happens when the storage fails in the run: a sentence, no leftovers, and the next step works.
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <iostream>

#include "unit/plugins/hdf5/fixture.hpp"

using namespace damaris::test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

// A small file system of its own, where the test may mount one.
class Mount {
 public:
  Mount(const std::string& folder, const std::string& options) : folder_(folder) {
    std::filesystem::create_directory(folder);
    mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, options.c_str()) == 0;
    if (!mounted_) std::cout << "SKIP of a case: this process may not mount a tmpfs (" << std::strerror(errno) << ")\n";
  }
  ~Mount() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  explicit operator bool() const { return mounted_; }
  void make_read_only() const { REQUIRE(::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0); }

 private:
  std::string folder_;
  bool mounted_;
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void add_bytes(Blocks& blocks, const dc_variable_info_t& variable, std::int32_t source, std::size_t bytes) {
  // Nothing that a filter could make small.
  std::vector<std::uint8_t> noise(bytes);
  std::uint32_t state = 1;
  for (auto& byte : noise) byte = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  blocks.add(variable, source, {static_cast<std::int64_t>(bytes)}, noise);
}

std::size_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  const auto counts = [](const auto& entry) { return entry.path().extension() == ".h5"; };
  return static_cast<std::size_t>(std::count_if(begin(all), end(all), counts));
}

}  // namespace

TEST_CASE("an output folder that vanishes during the run fails the step with the path; when it is restored, the next step works") {
  const auto variable = variable_info(0, "v", DC_UINT8, 1);
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("out"));
  FakeHost host(Settings{{"basename", folder.file("out/storm")}, {"retry-ms", "0"}});
  RunningPlugin plugin("hdf5", host);
  REQUIRE(plugin.init_code == DC_OK);
  Blocks blocks(0), next(1);
  add_bytes(blocks, variable, 0, 100);
  add_bytes(next, variable, 0, 100);
  std::filesystem::remove_all(folder.file("out"));
  REQUIRE(plugin.on_step(blocks.view()) == DC_E_IO);
  CHECK_THAT(host.failure, Contains(folder.file("out/storm.node7.s3.i0.h5") + " is not stored: cannot create the file"));
  CHECK_THAT(host.failure, EndsWith("No such file or directory; restore the output folder, which existed at start-up"));
  CHECK(host.files.empty());
  std::filesystem::create_directory(folder.file("out"));
  REQUIRE(plugin.on_step(next.view()) == DC_OK);
  CHECK(files_in(folder.file("out")) == 1);
}

TEST_CASE("a folder in place of the final file fails the step and leaves no temporary file") {
  const auto variable = variable_info(0, "v", DC_UINT8, 1);
  Fixture run({variable});
  std::filesystem::create_directory(run.path(0));
  Blocks blocks(0);
  add_bytes(blocks, variable, 0, 100);
  REQUIRE(run.plugin.on_step(blocks.view()) == DC_E_IO);
  CHECK_THAT(run.host.failure, Contains("cannot rename to " + run.path(0) + ": Is a directory"));
  CHECK(run.listing() == std::vector<std::string>{"storm.node7.s3.i0.h5"});
}

TEST_CASE("exists=refuse does not replace a file that appeared in the run, the default does") {
  const auto variable = variable_info(0, "v", DC_UINT8, 1);
  for (const bool refuse : {true, false}) {
    Fixture run({variable}, {{"exists", refuse ? "refuse" : "overwrite"}});
    run.folder.write("storm.node7.s3.i0.h5", "precious");
    Blocks blocks(0);
    add_bytes(blocks, variable, 0, 100);
    REQUIRE(run.plugin.on_step(blocks.view()) == (refuse ? DC_E_IO : DC_OK));
    CHECK(run.listing().size() == 1);
    CHECK((std::filesystem::file_size(run.path(0)) == 8) == refuse);
    if (refuse) CHECK_THAT(run.host.failure, EndsWith("File exists; move that file away, or use exists=\"overwrite\""));
  }
}

TEST_CASE("a read-only file system is refused by init, even for root") {
  const TempFolder folder;
  const Mount disk(folder.file("disk"), "size=256k");
  if (!disk) return;
  disk.make_read_only();
  FakeHost host(Settings{{"basename", folder.file("disk/storm")}});
  REQUIRE(RunningPlugin("hdf5", host).init_code == DC_E_NO_OUTPUT);
  CHECK_THAT(host.failure, EndsWith("Read-only file system; mount it for writing or choose another basename"));
}

TEST_CASE("a full disk fails the step, leaves no file and no descriptor, and the next step that fits works") {
  const auto variable = variable_info(0, "v", DC_UINT8, 1);
  for (const char* filters : {"", "shuffle,deflate:1"}) {
    const TempFolder folder;
    const Mount disk(folder.file("disk"), "size=256k");
    if (!disk) return;
    FakeHost host(Settings{{"basename", folder.file("disk/storm")}, {"retry-ms", "0"}, {"filters", filters}});
    RunningPlugin plugin("hdf5", host);
    REQUIRE(plugin.init_code == DC_OK);
    const std::size_t descriptors = open_descriptors();
    // From one that is too large alone to many that are small, so that metadata is what does not fit.
    for (const std::size_t bytes : {1000000u, 200000u, 10000u, 64u}) {
      Blocks blocks(static_cast<std::int64_t>(bytes));
      for (int source = 0; source < 1200000 / static_cast<int>(bytes + 300) + 1; ++source)
        add_bytes(blocks, variable, source, bytes + static_cast<std::size_t>(source % 2));  // not alike: a dataset for each
      REQUIRE(plugin.on_step(blocks.view()) == DC_E_IO);
      CHECK_THAT(host.failure, EndsWith("No space left on device; free space there"));
      CHECK(files_in(folder.file("disk")) == 0);
      CHECK(open_descriptors() == descriptors);
    }
    Blocks fitting(1);
    add_bytes(fitting, variable, 0, 100000);
    REQUIRE(plugin.on_step(fitting.view()) == DC_OK);
    CHECK(ReadFile(folder.file("disk/storm.node7.s3.i1.h5")).values<std::uint8_t>("v/0").size() == 100000);
  }
}

TEST_CASE("init on a full disk is refused") {
  const TempFolder folder;
  const Mount disk(folder.file("disk"), "size=64k");
  if (!disk) return;
  std::ofstream(folder.file("disk/filler")) << std::string(65536, 'x');
  FakeHost host(Settings{{"basename", folder.file("disk/storm")}, {"retry-ms", "0"}});
  REQUIRE(RunningPlugin("hdf5", host).init_code == DC_E_NO_OUTPUT);
  CHECK_THAT(host.failure, EndsWith("No space left on device; free space there or choose another basename"));
}
