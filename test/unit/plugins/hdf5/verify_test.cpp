// Every kind of damage to a run is found and named.
#include "plugins/hdf5/restart/verify_values.hpp"

#include <damaris/error.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <fstream>

#include "core/base/json.hpp"
#include "manifest/records.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using damaris::manifest::Verification;

namespace {

Verification verified(const TempFolder& folder, bool values = true) {
  return damaris::hdf5::verify(folder.file("storm"), {values, {}, {}});
}

// Overwrites what first equals `old` in the file, both of one length.
void replace_bytes(const std::string& path, const std::string& old, const std::string& with) {
  std::string text;
  {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  text.replace(at, with.size(), with);
  std::ofstream(path, std::ios::binary) << text;
}

std::string bytes_of(float value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

const char* const kFirst = "storm.node7.s0.i1.h5";

}  // namespace

TEST_CASE("a run without damage verifies, whatever its filters") {
  const std::string reduce = GENERATE("", "none, zstd:3", "none, deflate:6", "relative:0.01, zstd", "float16", "float16, deflate");
  const TempFolder folder;
  ServerOf server(folder, 0, 1,
                  reduce.empty() ? damaris::test::Settings{{"filters", "shuffle,deflate:1"}} : damaris::test::Settings{});
  auto variable = variable_info(0, "fields/v", DC_FLOAT32, 2);
  variable.reduce = reduce.c_str();
  if (reduce.find("zstd") != std::string::npos) variable.reduction.codec = DC_CODEC_ZSTD;
  if (reduce.find("deflate") != std::string::npos) variable.reduction.codec = DC_CODEC_DEFLATE;
  variable.reduction.level = 3;
  if (reduce.find("relative") == 0) variable.reduction.precision = DC_ROUND_RELATIVE;
  if (reduce.find("float16") == 0) variable.reduction.precision = DC_FLOAT16;
  variable.reduction.bound = 0.01;
  // Two chunks and a part of a third, from two blocks side by side, ghost zones cut.
  Blocks blocks(1);
  std::vector<float> values(1000 * 401);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) * 0.5F;
  for (const int source : {0, 1}) {
    dc_dataset_t& block = blocks.add(variable, source, {1000, 401}, values);
    place(block, {0, 400 * source});
    ghost(block, {0, 1}, {0, 0});
  }
  const int code = server.plugin->on_step(blocks.view());
  INFO(reduce + ": " + server.host.failure);
  REQUIRE(code == DC_OK);
  const Verification found = verified(folder);
  for (const auto& one : found.damaged) FAIL_CHECK(one.dataset + ": " + one.what);
  CHECK(found.datasets == 1);
}

TEST_CASE("damage is named with its step, file and dataset") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  for (const int step : {1, 2}) REQUIRE(server.store(step, 1000) == DC_OK);
  REQUIRE(verified(folder).damaged.empty());
  std::string dataset, what;
  SECTION("a value") {
    replace_bytes(folder.file(kFirst), bytes_of(1), bytes_of(3));
    dataset = "fields/v/0", what = "its values have changed";
  }
  SECTION("an attribute") {
    replace_bytes(folder.file(kFirst), "scalar", "vector");
    what = "its bytes have changed, outside the values of its datasets";
  }
  SECTION("the signature") {
    replace_bytes(folder.file(kFirst), "HDF", "XYZ");
    what = "HDF5 cannot open it: all its datasets are lost";
  }
  SECTION("a file gone") {
    std::filesystem::remove(folder.file(kFirst));
    what = "it cannot be opened: No such file or directory";
  }
  SECTION("a file of another length") {
    std::ofstream(folder.file(kFirst), std::ios::app) << "x";
    what = "it has ";
  }
  const Verification found = verified(folder);
  REQUIRE(found.damaged.size() == 1);
  CHECK(found.damaged[0].step == 1);
  CHECK(found.damaged[0].file == kFirst);
  CHECK(found.damaged[0].dataset == dataset);
  CHECK_THAT(found.damaged[0].what, Catch::StartsWith(what));
  CHECK(verified(folder, false).damaged.size() == 1);
}

TEST_CASE("a file for which this process has no free descriptor is not damaged, and the reason is named") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  REQUIRE(server.store(1) == DC_OK);
  REQUIRE(verified(folder).damaged.empty());
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit one_more = {static_cast<rlim_t>(next) + 1, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &one_more) == 0);
  const Verification found = verified(folder);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(found.damaged.empty());
  REQUIRE(found.unread.size() >= 1);
  for (const auto& one : found.unread) CHECK_THAT(one.what, Catch::Contains("Too many open files"));
}

TEST_CASE("a value that was wrong before the file was written is found although the file has not changed") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(1) == DC_OK);
  }
  const std::string log = folder.file("storm.g1.node7.s0.jsonl");
  std::ifstream in(log);
  std::string run, line;
  std::getline(in, run);
  std::getline(in, line);
  damaris::Json json = damaris::Json::parse(line);
  json["files"][0]["checksums"][0] = 0;
  json.erase("crc32");
  std::ofstream(log) << run + "\n" + damaris::manifest::sealed(json.dump()) + "\n";
  REQUIRE(verified(folder).damaged.size() == 1);
  CHECK(verified(folder).damaged[0].dataset == "fields/v/0");
  CHECK(verified(folder, false).damaged.empty());
}

TEST_CASE("incomplete steps and unrecorded files are reported") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 2);
    REQUIRE(server.store(1) == DC_OK);
  }
  folder.write("storm.node7.s1.i1.h5", "");
  folder.write("storm.i2.h5", "");  // of all servers
  folder.write(".storm.node7.s0.i9.h5.tmp.123", "");
  folder.write(".storm.i9.h5.tmp.123", "");
  const Verification found = verified(folder);
  REQUIRE(found.partial.size() == 1);
  CHECK(found.partial[0].what == "servers that did not report it: 1 (without a log)");
  CHECK(found.not_recorded ==
        std::vector<std::string>{".storm.i9.h5.tmp.123", ".storm.node7.s0.i9.h5.tmp.123", "storm.i2.h5", "storm.node7.s1.i1.h5"});
}

TEST_CASE("files of another run whose basename begins with that of this run do not belong to this run") {
  const TempFolder folder;
  for (const char* name : {"storm", "storm.1"}) {
    ServerOf server(folder.file(name));
    REQUIRE(server.store(1) == DC_OK);
  }
  for (const char* name : {"storm.1.node7.s0.i2.h5", ".storm.1.node7.s0.i2.h5.tmp.123", "storm.12.node7.s0.i2.h5"})
    folder.write(name, "");
  CHECK(verified(folder).not_recorded ==
        std::vector<std::string>{"storm.12.node7.s0.i2.h5"});  // there is no manifest of such a run
  CHECK(damaris::hdf5::verify(folder.file("storm.1"), {}).not_recorded ==
        std::vector<std::string>{".storm.1.node7.s0.i2.h5.tmp.123", "storm.1.node7.s0.i2.h5"});
}

TEST_CASE("a view whose record is missing is not recorded") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  REQUIRE(server.store(1) == DC_OK);
  REQUIRE(server.plugin->finalize() == DC_OK);
  server.plugin.reset();
  CHECK(verified(folder).not_recorded.empty());
  replace_bytes(folder.file("storm.g1.node7.s0.jsonl"), "\"storm.xmf\"", "\"storm.xnf\"");
  CHECK(verified(folder).not_recorded == std::vector<std::string>{"storm.xmf"});
}

TEST_CASE("files that a later run of the manifest has replaced are reported as such") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, 1);
    for (const int step : {0, 1, 2}) REQUIRE(first.store(step) == DC_OK);
  }
  {
    ServerOf second(folder, 0, 1, {{"exists", "append"}});
    REQUIRE(second.store(1) == DC_OK);
  }
  const Verification found = verified(folder);
  CHECK(found.damaged.empty());
  CHECK(found.not_recorded.empty());
  CHECK(found.replaced == std::vector<std::string>{"storm.node7.s0.i2.h5"});
}

TEST_CASE("a line of a log that cannot be read is damage, a truncated one is reported, and the others are checked") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(1) == DC_OK);
  }
  std::ofstream(folder.file("storm.g1.node7.s0.jsonl"), std::ios::app) << "{\"step\":,}\n{\"step\": 3, \"fi";
  const Verification found = verified(folder);
  CHECK(found.steps == 1);
  CHECK(found.files == 1);
  REQUIRE(found.damaged.size() == 1);
  CHECK(found.damaged[0].what.find("storm.g1.node7.s0.jsonl:6: this line is damaged: its checksum") != std::string::npos);
  REQUIRE(found.partial.size() == 1);
  CHECK(found.partial[0].what.find("its last line is cut off") != std::string::npos);
}

TEST_CASE("a run is found by its basename, one of its files or its folder; otherwise the existing ones are named") {
  using damaris::manifest::find_run;
  const TempFolder folder;
  folder.write("storm.g1.n.s0.jsonl", "");
  const std::string basename = folder.file("storm");
  for (const char* run : {"storm", "storm.h5", "storm.jsonl", "storm.g1.n.s0.jsonl", "storm.n.s0.i4.h5", ""})
    CHECK(find_run(*run == '\0' ? folder.path().string() : folder.file(run)) == basename);
  CHECK_THROWS_WITH(find_run(folder.file("strom")), Catch::EndsWith("in its folder there is a run storm"));
  folder.write("other.g1.n.s0.jsonl", "");
  CHECK_THROWS_WITH(find_run(folder.path().string()), Catch::Contains("there are 2 runs in this folder"));
}

TEST_CASE("servers that store the same elements are named, unless these have the same values or are a shared face") {
  const TempFolder folder;
  const auto variable = variable_info(0, "fields/w", DC_FLOAT32, 1);
  {
    ServerOf first(folder, 0, 1, {}, false), second(folder, 1, 2, {}, false);
    const auto store = [&](std::int64_t step, std::int64_t place_of_second, float last) {
      Blocks one(step), other(step);
      place(one.add(variable, 0, {3}, std::vector<float>{1, 2, 3}), {0});
      place(other.add(variable, 1, {3}, std::vector<float>{1, 2, last}), {place_of_second});
      REQUIRE(first.plugin->on_step(one.view()) == DC_OK);
      REQUIRE(second.plugin->on_step(other.view()) == DC_OK);
    };
    store(1, 0, 3);
    store(2, 2, 3);
    store(3, 1, 3);
    store(4, 0, 4);
    {
      Blocks one(5), other(5);  // a part of it, with the same values
      place(one.add(variable, 0, {3}, std::vector<float>{1, 2, 3}), {0});
      place(other.add(variable, 1, {3}, std::vector<float>{2, 3, 4}), {1});
      REQUIRE(first.plugin->on_step(one.view()) == DC_OK);
      REQUIRE(second.plugin->on_step(other.view()) == DC_OK);
    }
    REQUIRE(second.plugin->finalize() == DC_OK);
    REQUIRE(first.plugin->finalize() == DC_OK);
  }
  const Verification found = verified(folder);
  CHECK(found.damaged.empty());
  REQUIRE(found.partial.size() == 2);
  CHECK(found.partial[0].step == 3);
  CHECK(found.partial[0].what ==
        "'fields/w': storm.node7.s0.i3.h5 and storm.node7.s1.i3.h5 hold other values of the elements (1) to (2); readers get those "
        "of storm.node7.s0.i3.h5; check that dc_set_position gives each block its own place");
  CHECK(found.partial[1].step == 4);
  CHECK(verified(folder, false).partial.size() == 1);  // without reading values only what the checksums say
}
