// The manifest that the plugin leaves beside its files: what stands in it, when, and what an earlier run's becomes.
#include <sys/mount.h>

#include <catch2/catch.hpp>

#include <fstream>
#include <iostream>

#include "codec/checksum.hpp"
#include "plugins/hdf5/restart/restart_reader.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/plugins/hdf5/record_text.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using damaris::manifest::StepEntry;

namespace {

std::uint32_t checksum_of_file(const std::string& path) {
  const std::string text = content(path);
  return damaris::codec::crc32(text.data(), text.size());
}

}  // namespace

TEST_CASE("the manifest describes the contents of each file and dataset") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  const auto exact = variable_info(0, "fields/v", DC_FLOAT32, 2);
  auto rounded = variable_info(1, "w", DC_FLOAT64, 1);
  rounded.reduce = "absolute:0.5, deflate";
  rounded.reduction = {DC_ROUND_ABSOLUTE, 0.5, 0, 0, 0, 0, DC_CODEC_DEFLATE, 1};
  Blocks blocks(7);
  const std::vector<float> values = {3, -1, std::nanf(""), 8, 2, 2};
  place(blocks.add(exact, 0, {2, 3}, values), {4, 0});
  blocks.add(rounded, 1, {3}, std::vector<double>{0.1, 0.2, 0.3});
  dc_step_t& view = blocks.view();
  view.has_time = 1;
  view.time = 2.5;
  const std::int32_t absent = 3;
  view.absent = &absent;
  view.absent_count = 1;
  REQUIRE(server.plugin->on_step(view) == DC_OK);

  const auto steps = steps_in(folder.file("storm"));
  REQUIRE(steps.size() == 1);
  const StepEntry& step = steps.at(7);
  CHECK(step.complete);
  CHECK(step.time == 2.5);
  CHECK(step.absent == std::vector<std::int32_t>{3});
  REQUIRE(step.files.size() == 1);
  const auto& file = step.files[0];
  CHECK(file.name == "storm.node7.s0.i7.h5");
  CHECK(file.bytes == std::filesystem::file_size(folder.file(file.name)));
  CHECK(file.checksum == checksum_of_file(folder.file(file.name)));
  REQUIRE(file.datasets.size() == 2);
  CHECK(file.datasets[0].path == "fields/v");
  CHECK(file.datasets[0].box.low[0] == 4);
  CHECK(file.datasets[0].checksum == damaris::codec::crc32(values.data(), 24));
  CHECK(file.datasets[0].raw_bytes == 24);
  CHECK(file.datasets[0].min == -1.0);
  CHECK(file.datasets[0].max == 8.0);
  CHECK(file.datasets[1].path == "w/1");
  CHECK(file.datasets[1].source == 1);
  CHECK(file.datasets[1].reduce == "absolute:0.5, deflate");
  CHECK(file.datasets[1].largest_error.value_or(9) <= 0.5);
  const auto stored = ReadFile(folder.file(file.name)).values<double>("w/1");
  CHECK(file.datasets[1].checksum == damaris::codec::crc32(stored.data(), 24));
}

TEST_CASE("a step of a client that never attached is partial, and verify says so") {
  const TempFolder folder;
  {
    ServerOf server(folder, 0, 1);
    Blocks blocks(7);
    const auto variable = variable_info(0, "v", DC_FLOAT32, 1);
    blocks.add(variable, 0, {1}, std::vector<float>{3});
    blocks.view().never_attached = 2;
    REQUIRE(server.plugin->on_step(blocks.view()) == DC_OK);
  }
  const damaris::manifest::Verification found = damaris::hdf5::verify(folder.file("storm"), {});
  REQUIRE(found.partial.size() == 1);
  CHECK(found.partial[0].what == "clients that never attached: 2");
}

TEST_CASE("a step of which a block was refused is partial for verify and for restart, with the reason, stored or not") {
  const TempFolder folder;
  const char* const refusal = "'v' of client 0 in step 7 was refused: its position cannot be";
  const bool has_data = GENERATE(true, false);
  {
    ServerOf server(folder, 0, 1);
    REQUIRE(server.store(6) == DC_OK);
    Blocks blocks(7);
    const auto variable = variable_info(0, "v", DC_FLOAT32, 1);
    if (has_data) blocks.add(variable, 0, {1}, std::vector<float>{3});
    blocks.view().refused_count = 1;
    blocks.view().refused = &refusal;
    REQUIRE(server.plugin->on_step(blocks.view()) == DC_OK);
  }
  const damaris::manifest::Verification found = damaris::hdf5::verify(folder.file("storm"), {});
  REQUIRE(found.partial.size() == 1);
  CHECK(found.partial[0].what == refusal);
  damaris::hdf5::RestartReader restart(folder.file("storm"));
  CHECK(restart.last_step(nullptr) == 6);
}

TEST_CASE("a step is whole when all servers have recorded it, or a later one") {
  const TempFolder folder;
  ServerOf first(folder, 0, 2), second(folder, 1, 2);
  REQUIRE(first.store(1) == DC_OK);
  CHECK_FALSE(steps_in(folder.file("storm")).at(1).complete);
  REQUIRE(second.store(2) == DC_OK);
  CHECK(steps_in(folder.file("storm")).at(1).complete);
  REQUIRE(first.store(2) == DC_OK);
  const StepEntry both = steps_in(folder.file("storm")).at(2);
  CHECK(both.complete);
  CHECK(both.servers == std::vector<int>{0, 1});
  CHECK(both.files.size() == 2);
  REQUIRE(first.store(3) == DC_OK);
  CHECK(first.plugin->finalize() == DC_OK);
  CHECK_FALSE(steps_in(folder.file("storm")).at(3).complete);
  CHECK(second.plugin->finalize() == DC_OK);
  CHECK(steps_in(folder.file("storm")).at(3).complete);
  CHECK(first.host.sent.empty());
}

TEST_CASE("steps that a server ends without are whole up to where it lost a client, and not beyond") {
  const TempFolder folder;
  ServerOf first(folder, 0, 2), second(folder, 1, 2);
  for (const int step : {1, 2}) REQUIRE(first.store(step) == DC_OK);
  second.host.lose(5, 1);
  REQUIRE(second.plugin->finalize() == DC_OK);
  CHECK(steps_in(folder.file("storm")).at(1).complete);
  CHECK_FALSE(steps_in(folder.file("storm")).at(2).complete);
  CHECK(damaris::hdf5::verify(folder.file("storm"), {}).partial.at(0).what == "clients that never ended it: 5");
}

TEST_CASE("for a step that only some servers stored, recovery reports no more than these knew") {
  const TempFolder folder;
  {
    ServerOf keeper(folder, 0, 2, {}, true, "run1");  // dies
    ServerOf other(folder, 1, 2, {}, true, "run1");   // its node dies
    REQUIRE(keeper.store(1) == DC_OK);
    REQUIRE(other.store(1) == DC_OK);
    REQUIRE(keeper.store(2) == DC_OK);
    std::filesystem::copy(folder.path(), folder.file("as_they_died"));
  }
  const TempFolder after;
  std::filesystem::copy(folder.file("as_they_died"), after.path());
  {
    ServerOf recovery(after, 0, 2, {{"exists", "recover"}}, false, "run1");
    INFO(recovery.host.failure);
    REQUIRE(recovery.plugin->init_code == DC_OK);
    REQUIRE(recovery.store(3) == DC_OK);  // from its region
    REQUIRE(recovery.plugin->finalize() == DC_OK);
  }
  const auto steps = steps_in(after.file("storm"));
  CHECK(steps.at(1).complete);
  CHECK_FALSE(steps.at(2).complete);
  CHECK_FALSE(steps.at(3).complete);
  damaris::hdf5::RestartReader restart(after.file("storm"));
  CHECK(restart.last_step(nullptr) == 1);
  const damaris::manifest::Verification found = damaris::hdf5::verify(after.file("storm"), {});
  REQUIRE(found.partial.size() == 2);
  CHECK(found.partial[0].what == "servers that did not report it: node7/1");
}

TEST_CASE("a step is whole if a rank in place had no data of it, and not if that rank has died") {
  const TempFolder folder;
  ServerOf first(folder, 0, 2, ServerOf::In::place), second(folder, 1, 2, ServerOf::In::place);
  REQUIRE(first.plugin->init_code == DC_OK);
  REQUIRE(second.plugin->init_code == DC_OK);
  for (const int step : {1, 2, 3}) REQUIRE(first.store(step) == DC_OK);
  REQUIRE(second.store(2) == DC_OK);
  const auto complete = [&](std::int64_t step) { return steps_in(folder.file("storm")).at(step).complete; };
  CHECK(complete(1));
  CHECK(complete(2));
  CHECK_FALSE(complete(3));  // if it dies now nobody will know
  REQUIRE(second.plugin->finalize() == DC_OK);
  CHECK(complete(3));
}

TEST_CASE("if a server of another node has joined and reported nothing, no step is whole until it ends") {
  const TempFolder folder;
  ServerOf first(folder, 0, 1, {}, false);
  FakeHost host(ServerOf::with_basename({}, folder.file("storm")), {});
  host.place(0, 1);
  host.set_name("node8");
  host.cut_off();
  RunningPlugin second("hdf5", host);
  INFO(host.failure);
  REQUIRE(second.init_code == DC_OK);
  REQUIRE(first.store(1) == DC_OK);
  const damaris::manifest::Verification before = damaris::hdf5::verify(folder.file("storm"), {});
  REQUIRE(before.partial.size() == 1);
  CHECK(before.partial[0].what == "servers that did not report it: node8/0");
  host.lose(9, 0);
  REQUIRE(second.finalize() == DC_OK);
  const damaris::manifest::Verification after = damaris::hdf5::verify(folder.file("storm"), {});
  REQUIRE(after.partial.size() == 1);
  CHECK(after.partial[0].what == "clients that never ended it: 9");
}

TEST_CASE("independent servers that store nothing leave no trace of the run") {
  const TempFolder folder;
  {
    ServerOf first(folder, 0, 1, {}, false), second(folder, 1, 2, {}, false);
    REQUIRE(second.plugin->finalize() == DC_OK);
    REQUIRE(first.plugin->finalize() == DC_OK);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a block without a position in a layout with a global array is reported once, in the log and in the manifest") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  auto variable = variable_info(0, "fields/w", DC_FLOAT32, 1);
  variable.has_global = 1;
  variable.layout = "w";
  for (const int step : {1, 2}) {
    Blocks blocks(step);
    for (const int source : {0, 1}) blocks.add(variable, source, {2}, std::vector<float>{1, 2}).global[0] = 4;
    REQUIRE(server.plugin->on_step(blocks.view()) == DC_OK);
  }
  const std::string line =
      "'fields/w' of client 0 has no position in its global array and is not joined; call dc_set_position for it, or remove "
      "'global' from its layout 'w'";
  const auto steps = steps_in(folder.file("storm"));
  CHECK(steps.at(1).warnings == std::vector<std::string>{line});
  CHECK(steps.at(1).complete);
  CHECK(steps.at(2).warnings.empty());
  CHECK(std::count(server.host.lines.begin(), server.host.lines.end(), std::make_pair(1, "hdf5: step 1: " + line)) == 1);
}

TEST_CASE("a step in which blocks share more than a face and differ there is partial, whatever comes before it") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  const auto variable = variable_info(0, "fields/w", DC_FLOAT32, 1);
  const auto store = [&](std::int64_t step, std::int64_t second_place, float last) {
    Blocks blocks(step);
    place(blocks.add(variable, 0, {3}, std::vector<float>{1, 2, 3}), {0});
    place(blocks.add(variable, 1, {3}, std::vector<float>{2, 3, last}), {second_place});
    return server.plugin->on_step(blocks.view());
  };
  const std::string both = "'fields/w': client 1 and client 0 both wrote the elements",
                    those =
                        "; those of client 1 differ and are not stored; check that dc_set_position gives each block its own place";
  CHECK(store(1, 1, 7) == DC_OK);  // the common part is equal
  CHECK(store(2, 2, 7) == DC_OK);  // a shared face
  for (const std::int64_t step : {3, 4}) {
    CHECK(store(step, 0, 7) == DC_E_IO);
    CHECK(server.host.failure == both + " (0) to (2)" + those);
  }
  const auto steps = steps_in(folder.file("storm"));
  for (const int step : {1, 2}) CHECK(steps.at(step).complete);
  for (const int step : {3, 4}) {
    CHECK_FALSE(steps.at(step).complete);
    CHECK(steps.at(step).failures == std::vector<std::string>{both + " (0) to (2)" + those});
    CHECK(steps.at(step).files.size() == 1);
  }
}

TEST_CASE("a forgotten position is an overlap too: ghost zones are cut first, the first two blocks that differ are named") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  const auto variable = variable_info(0, "fields/w", DC_FLOAT32, 2);
  Blocks blocks(1);
  for (const int source : {0, 1, 2}) {
    dc_dataset_t& block = blocks.add(variable, source, {2, 4}, std::vector<float>(8, source == 0 ? 1.0F : 2.0F));
    place(block, {0, 0});
    block.ghost_low[1] = block.ghost_high[1] = 1;
  }
  CHECK(server.plugin->on_step(blocks.view()) == DC_E_IO);
  CHECK_THAT(server.host.failure, Catch::StartsWith("'fields/w': client 1 and client 0 both wrote the elements (0,0) to (1,1);"));
}

TEST_CASE("a step that could not be stored is in the manifest with its reason") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  std::filesystem::create_directory(folder.file("storm.node7.s0.i0.h5"));
  REQUIRE(server.store(0) == DC_E_IO);
  const StepEntry step = steps_in(folder.file("storm")).at(0);
  CHECK_FALSE(step.complete);
  REQUIRE(step.failures.size() == 1);
  CHECK_THAT(step.failures[0], Catch::Contains("cannot rename to"));
}

TEST_CASE(
    "exists=overwrite removes this server's files of the earlier run with its first step, not before, and at the end those of "
    "others") {
  const TempFolder folder;
  const auto there = [&](const char* name) { return std::filesystem::exists(folder.file(name)); };
  {
    ServerOf first(folder, 0, 2), second(folder, 1, 2);
    for (ServerOf* server : {&first, &second})
      for (const int step : {1, 2}) REQUIRE(server->store(step) == DC_OK);
  }
  ServerOf alone(folder, 0, 1, {{"exists", "overwrite"}});
  INFO(alone.host.failure);
  REQUIRE(alone.plugin->init_code == DC_OK);
  CHECK(steps_in(folder.file("storm")).size() == 2);
  CHECK(there("storm.node7.s0.i2.h5"));
  REQUIRE(alone.store(1) == DC_OK);
  const auto steps = steps_in(folder.file("storm"));
  REQUIRE(steps.size() == 1);
  CHECK(steps.at(1).files.size() == 1);
  CHECK_FALSE(there("storm.node7.s0.i2.h5"));
  REQUIRE(alone.plugin->finalize() == DC_OK);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  CHECK(names ==
        std::vector<std::string>{"storm.g2.node7.s0.jsonl", "storm.h5", "storm.jsonl", "storm.node7.s0.i1.h5", "storm.xmf"});
}

TEST_CASE("a full disk refuses data, not what is said of them") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("disk"));
  if (::mount("tmpfs", folder.file("disk").c_str(), "tmpfs", 0, "size=512k") != 0) {
    std::cout << "SKIP of a case: this process may not mount a tmpfs\n";
    return;
  }
  {
    ServerOf server(folder.file("disk/storm"));
    REQUIRE(server.store(0) == DC_OK);
    std::ofstream(folder.file("disk/filler")) << std::string(512 << 10, 'x');
    for (const int step : {1, 2, 3}) CHECK(server.store(step, 1000) == DC_E_IO);
    const auto steps = steps_in(folder.file("disk/storm"));
    REQUIRE(steps.size() == 4);
    CHECK_THAT(steps.at(3).failures.at(0), Catch::Contains("No space left on device"));
    std::filesystem::remove(folder.file("disk/filler"));
    CHECK(server.store(4) == DC_OK);
    CHECK(server.plugin->finalize() == DC_OK);
    CHECK(steps_in(folder.file("disk/storm")).at(4).complete);
  }
  ::umount2(folder.file("disk").c_str(), MNT_DETACH);
}

TEST_CASE("a step is in the manifest when its callback returns; the views follow when the server has nothing else to do") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  const auto variable = variable_info(0, "v", DC_INT32, 1);
  Blocks blocks(7);
  place(blocks.add(variable, 0, {2}, std::vector<int>{1, 2}), {0});
  REQUIRE(server.plugin->on_step(blocks.view()) == DC_OK);
  CHECK(steps_in(folder.file("storm")).count(7) == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file("storm.h5")));
  int code = DC_AGAIN, calls = 0;
  for (; code == DC_AGAIN; ++calls) code = server.plugin->on_idle();
  CHECK(code == DC_OK);
  CHECK(calls > 1);
  CHECK(std::filesystem::exists(folder.file("storm.h5")));
  CHECK(server.plugin->on_idle() == DC_OK);
}
