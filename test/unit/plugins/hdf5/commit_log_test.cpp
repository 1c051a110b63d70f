// The manifest that the plugin leaves beside its files: what stands in it, when, and what an earlier run's becomes.
#include <sys/mount.h>

#include <catch2/catch.hpp>

#include <iostream>

#include "codec/checksum.hpp"
#include "manifest/server_report.hpp"
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

  const auto steps = steps_in(folder.file("storm.jsonl"));
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
  const damaris::manifest::Verification found = damaris::hdf5::verify(folder.file("storm.jsonl"), {});
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
  const damaris::manifest::Verification found = damaris::hdf5::verify(folder.file("storm.jsonl"), {});
  REQUIRE(found.partial.size() == 1);
  CHECK(found.partial[0].what == refusal);
  damaris::hdf5::RestartReader restart(folder.file("storm"));
  CHECK(restart.last_step(nullptr) == 6);
}

TEST_CASE("a line appears when all servers have reported the step or a later one") {
  const TempFolder folder;
  ServerOf keeper(folder, 0, 2), other(folder, 1, 2);
  REQUIRE(keeper.store(1) == DC_OK);
  CHECK(steps_in(folder.file("storm.jsonl")).empty());
  REQUIRE(other.store(2) == DC_OK);
  for (const auto& [to, text] : other.host.sent) {
    CHECK(to == 0);
    REQUIRE(keeper.plugin->on_message(1, text) == DC_OK);
  }
  CHECK(steps_in(folder.file("storm.jsonl")).at(1).complete);
  CHECK(steps_in(folder.file("storm.jsonl")).size() == 1);
  REQUIRE(keeper.store(2) == DC_OK);
  const StepEntry second = steps_in(folder.file("storm.jsonl")).at(2);
  CHECK(second.servers == std::vector<int>{0, 1});
  CHECK(second.files.size() == 2);
  REQUIRE(keeper.store(3) == DC_OK);
  CHECK(keeper.plugin->finalize() == DC_OK);
  CHECK_FALSE(steps_in(folder.file("storm.jsonl")).at(3).complete);
}

TEST_CASE("a server that passes a step without data has reported it: the line appears, and it is complete") {
  const TempFolder folder;
  ServerOf keeper(folder, 0, 2), other(folder, 1, 2);
  const auto to_keeper = [&] {
    for (const auto& [to, text] : std::exchange(other.host.sent, {})) REQUIRE(keeper.plugin->on_message(1, text) == DC_OK);
  };
  REQUIRE(keeper.store(1) == DC_OK);
  REQUIRE(other.plugin->on_passed(0) == DC_OK);
  to_keeper();
  CHECK(steps_in(folder.file("storm.jsonl")).empty());
  REQUIRE(other.plugin->on_passed(1) == DC_OK);
  to_keeper();
  const StepEntry first = steps_in(folder.file("storm.jsonl")).at(1);
  CHECK(first.complete);
  CHECK(first.servers == std::vector<int>{0, 1});
  REQUIRE(other.store(2) == DC_OK);
  REQUIRE(other.plugin->on_passed(std::numeric_limits<std::int64_t>::max()) == DC_OK);
  to_keeper();
  REQUIRE(keeper.plugin->on_passed(std::numeric_limits<std::int64_t>::max()) == DC_OK);
  CHECK(steps_in(folder.file("storm.jsonl")).at(2).complete);
  CHECK(keeper.plugin->finalize() == DC_OK);
}

TEST_CASE("steps that a server passes are whole up to where it lost a client, and not beyond") {
  const TempFolder folder;
  ServerOf keeper(folder, 0, 2), other(folder, 1, 2);
  for (const int step : {1, 2}) REQUIRE(keeper.store(step) == DC_OK);
  other.host.lose(5, 1);
  REQUIRE(other.plugin->on_passed(std::numeric_limits<std::int64_t>::max()) == DC_OK);
  for (const auto& [to, text] : other.host.sent) REQUIRE(keeper.plugin->on_message(1, text) == DC_OK);
  const auto steps = steps_in(folder.file("storm.jsonl"));
  CHECK(steps.at(1).complete);
  CHECK_FALSE(steps.at(2).complete);
  CHECK(steps.at(2).missing == std::vector<std::int32_t>{5});
}

TEST_CASE("for a step that only some servers stored, recovery reports no more than these knew") {
  const TempFolder folder;
  {
    ServerOf keeper(folder, 0, 2, {}, true, "run1");  // dies without the reports of the others
    ServerOf other(folder, 1, 2, {}, true, "run1");   // its node dies
    REQUIRE(keeper.store(1) == DC_OK);
    REQUIRE(other.store(1) == DC_OK);
    for (const auto& [to, text] : other.host.sent) REQUIRE(keeper.plugin->on_message(1, text) == DC_OK);
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
  const auto steps = steps_in(after.file("storm.jsonl"));
  CHECK(steps.at(1).complete);
  CHECK_FALSE(steps.at(2).complete);
  CHECK_FALSE(steps.at(3).complete);
  damaris::hdf5::RestartReader restart(after.file("storm"));
  CHECK(restart.last_step(nullptr) == 1);
  const damaris::manifest::Verification found = damaris::hdf5::verify(after.file("storm.jsonl"), {});
  REQUIRE(found.partial.size() == 2);
  CHECK(found.partial[0].what == "servers that did not report it: 1");
}

TEST_CASE("a step is whole if a rank in place had no data of it, and not if that rank has died") {
  const TempFolder folder;
  ServerOf first(folder, 0, 2, ServerOf::In::place), second(folder, 1, 2, ServerOf::In::place);
  REQUIRE(first.plugin->init_code == DC_OK);
  REQUIRE(second.plugin->init_code == DC_OK);
  for (const int step : {1, 2, 3}) REQUIRE(first.store(step) == DC_OK);
  REQUIRE(second.store(2) == DC_OK);
  const auto complete = [&](std::int64_t step) { return steps_in(folder.file("storm.jsonl")).at(step).complete; };
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
  const damaris::manifest::Verification before = damaris::hdf5::verify(folder.file("storm.jsonl"), {});
  REQUIRE(before.partial.size() == 1);
  CHECK(before.partial[0].what == "servers that did not report it: node8/0");
  host.lose(9, 0);
  REQUIRE(second.finalize() == DC_OK);
  const damaris::manifest::Verification after = damaris::hdf5::verify(folder.file("storm.jsonl"), {});
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
  CHECK_FALSE(std::filesystem::exists(folder.file("storm.jsonl")));
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
  const auto steps = steps_in(folder.file("storm.jsonl"));
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
  const auto steps = steps_in(folder.file("storm.jsonl"));
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
  const StepEntry step = steps_in(folder.file("storm.jsonl")).at(0);
  CHECK_FALSE(step.complete);
  REQUIRE(step.failures.size() == 1);
  CHECK_THAT(step.failures[0], Catch::Contains("cannot rename to"));
}

TEST_CASE(
    "exists=overwrite removes all files of the earlier run with the first step, not before, including those of other servers") {
  const TempFolder folder;
  {
    ServerOf keeper(folder, 0, 2), other(folder, 1, 2);
    REQUIRE(other.store(1) == DC_OK);
    REQUIRE(other.store(2) == DC_OK);
    for (const auto& [to, text] : other.host.sent) keeper.plugin->on_message(1, text);
    for (const int step : {1, 2}) REQUIRE(keeper.store(step) == DC_OK);
  }
  ServerOf alone(folder, 0, 1, {{"exists", "overwrite"}});
  INFO(alone.host.failure);
  REQUIRE(alone.plugin->init_code == DC_OK);
  CHECK(steps_in(folder.file("storm.jsonl")).size() == 2);
  REQUIRE(alone.store(1) == DC_OK);
  const auto steps = steps_in(folder.file("storm.jsonl"));
  REQUIRE(steps.size() == 1);
  CHECK(steps.at(1).files.size() == 1);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string().substr(0, std::string("storm.node7.s0.entries.").size()));
  std::sort(names.begin(), names.end());  // the shard's name ends in letters; and views when there is time
  CHECK(names == std::vector<std::string>{".storm.lock", "storm.jsonl", "storm.node7.s0.entries.", "storm.node7.s0.i1.h5"});
}

TEST_CASE("lines that do not fit on a full disk are kept and added later; if they still do not fit at the end, the run fails") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("disk"));
  if (::mount("tmpfs", folder.file("disk").c_str(), "tmpfs", 0, "size=128k") != 0) {
    std::cout << "SKIP of a case: this process may not mount a tmpfs\n";
    return;
  }
  {
    FakeHost host(Settings{{"basename", folder.file("disk/storm")}, {"retry-ms", "0"}});
    host.place(0, 2);
    RunningPlugin plugin("hdf5", host);
    REQUIRE(plugin.init_code == DC_OK);
    FakeHost other_host(Settings{{"basename", folder.file("disk/storm")}});
    other_host.place(1, 2);
    RunningPlugin other("hdf5", other_host);
    REQUIRE(other.init_code == DC_OK);
    StepEntry record;
    record.servers = {1};
    Blocks mine(1);
    REQUIRE(plugin.on_step(mine.view()) == DC_OK);
    folder.write("disk/filler", std::string(200000, 'x'));
    record.step = 1;
    record.failures = {std::string(10'000, 'x')};  // more than is left of the manifest's last page
    std::string facts;
    REQUIRE(plugin.on_message(1, to_message(report_of(record, 1, true, facts))) == DC_E_IO);
    CHECK_THAT(host.failure, Catch::Contains("step 1 is not stored, and the manifest cannot record it") &&
                                 Catch::Contains("No space left on device"));
    const auto [to, told] = host.sent.back();  // for the clients there
    CHECK(to == 1);
    CHECK(other.on_message(0, told) == DC_E_IO);
    CHECK_THAT(other_host.failure, Catch::StartsWith("the manifest, which server 0 keeps, lacks step 1: cannot write to "));
    const bool room = GENERATE(true, false);
    if (room) std::filesystem::remove(folder.file("disk/filler"));
    CHECK(plugin.finalize() == (room ? DC_OK : DC_E_IO));
    if (!room) CHECK_THAT(host.failure, Catch::StartsWith("the manifest lacks step 1: cannot write to "));
    CHECK(steps_in(folder.file("disk/storm.jsonl")).size() == (room ? 1 : 0));
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
  CHECK(steps_in(folder.file("storm.jsonl")).count(7) == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file("storm.h5")));
  int code = DC_AGAIN, calls = 0;
  for (; code == DC_AGAIN; ++calls) code = server.plugin->on_idle();
  CHECK(code == DC_OK);
  CHECK(calls > 1);
  CHECK(std::filesystem::exists(folder.file("storm.h5")));
  CHECK(server.plugin->on_idle() == DC_OK);
}
