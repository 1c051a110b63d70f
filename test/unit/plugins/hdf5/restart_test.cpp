// Restart through the plugin's table: what one run stored is what another one reads, and what it cannot read it names.
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "core/base/json.hpp"
#include "unit/plugins/hdf5/earlier_run.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

namespace damaris::test {
namespace {

using Catch::Contains;

TEST_CASE("a part of the global array is read back bit for bit, whichever client wrote it") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 3});
  question.at({2, 1});
  later.reads(question);
  CHECK(question.values == std::vector<float>{9.5F, 10.5F, 11.5F, 1.5F, 2.5F, 3.5F});
}

TEST_CASE("an array over two files is put together") {
  Earlier earlier;
  manifest::StepEntry step = earlier.step();
  step.files[0].datasets[0].box.low[0] = 6;
  step.files[0].datasets[0].box.high[0] = 12;
  step.files[0].name = "another.h5";
  std::filesystem::copy(earlier.fixture.path(4), earlier.fixture.folder.file("another.h5"));
  step.files.insert(step.files.begin(), earlier.step().files[0]);
  earlier.record.add(step);
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {12, 4});
  later.reads(question.at({0, 0}));
  CHECK(question.values[20] == 8.5F);
  CHECK(question.values[24] == 0.5F);
  CHECK(question.values[47] == 11.5F);
}

TEST_CASE("a block without a position is read back by the client that wrote it") {
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "particles", DC_FLOAT64, 1)};
  Fixture fixture(variables);
  Blocks blocks(4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  blocks.add(variables[0], 2, {3}, std::vector<double>{1, -0.0, 5e-324});
  blocks.add(variables[0], 2, {2}, std::vector<double>{nan, -std::numeric_limits<double>::infinity()}, 1);
  fixture.stored(blocks);
  const HandRecord record(fixture.folder.path());
  record.add(record.step(4, fixture.path(4), {source_dataset("particles", 2, {3}), source_dataset("particles", 2, {2}, 1)}));
  Later later(record, variables);
  Question<double> first(variables[0], 4, {3}, 2), second(variables[0], 4, {2}, 2);
  second.read.block = 1;
  later.reads(first);
  later.reads(second);
  CHECK(first.values == std::vector<double>{1, 0, 5e-324});
  CHECK(std::signbit(first.values[1]));
  CHECK(std::isnan(second.values[0]));
  CHECK(second.values[1] == -std::numeric_limits<double>::infinity());
}

TEST_CASE("a client with a position gets nothing of a run without positions: its own block may have been elsewhere") {
  const std::vector<dc_variable_info_t> variables = {theta()};
  Fixture fixture(variables);
  Blocks blocks(4);
  blocks.add(variables[0], 1, {2, 2}, std::vector<float>{1, 2, 3, 4});
  fixture.stored(blocks);
  const HandRecord record(fixture.folder.path());
  record.add(record.step(4, fixture.path(4), {source_dataset("fields/theta", 1, {2, 2})}));
  Later later(record, variables);
  Question<float> question(variables[0], 4, {2, 2}, 1);
  CHECK(later.plugin.read(question.at({6, 8}).read) == DC_E_SHAPE);
  CHECK_THAT(later.host.failure, Catch::Contains("it was stored without positions"));
}

TEST_CASE("compressed chunks are decompressed, including those of zstd") {
  auto codec = GENERATE(DC_CODEC_DEFLATE, DC_CODEC_ZSTD);
  std::vector<dc_variable_info_t> variables = {theta()};
  variables[0].reduction.codec = codec;
  variables[0].reduction.level = 1;
  variables[0].reduce = "compressed";
  Fixture fixture(variables);
  Blocks blocks(4);
  std::vector<float> values(100 * 200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 50);
  place(blocks.add(variables[0], 0, {100, 200}, values), {0, 0});
  fixture.stored(blocks);
  const HandRecord record(fixture.folder.path());
  record.add(record.step(4, fixture.path(4), {joined_dataset("fields/theta", {0, 0}, {100, 200})}));
  Later later(record, variables);
  Question<float> question(variables[0], 4, {100, 200});
  later.reads(question.at({0, 0}));
  CHECK(question.values == values);
}

TEST_CASE("16 bits are read back as the values that they represent") {
  std::vector<dc_variable_info_t> variables = {theta()};
  variables[0].reduction.precision = DC_FLOAT16;
  variables[0].reduction.has_packing = 1;
  variables[0].reduction.scale = 2;
  variables[0].reduction.offset = 300;
  variables[0].reduce = "float16";
  Fixture fixture(variables);
  Blocks blocks(4);
  place(blocks.add(variables[0], 0, {2, 2}, std::vector<float>{300, 301, 302.5F, 290}), {0, 0});
  fixture.stored(blocks);
  const HandRecord record(fixture.folder.path());
  manifest::DatasetEntry dataset = joined_dataset("fields/theta", {0, 0}, {2, 2});
  dataset.scale = 2;
  dataset.offset = 300;
  record.add(record.step(4, fixture.path(4), {dataset}));
  Later later(record, variables);
  Question<float> question(variables[0], 4, {1, 2});
  later.reads(question.at({1, 0}));
  CHECK(question.values == std::vector<float>{302.5F, 290});
}

namespace {

// Stores values in 16 bits and returns what a later run reads of them.
template <class Value>
std::vector<Value> through_16_bits(dc_type type, const std::vector<Value>& values) {
  const TempFolder folder;
  auto variable = variable_info(0, "fields/theta", type, 1);
  variable.reduction.precision = DC_FLOAT16;
  variable.reduce = "float16";
  const auto count = static_cast<std::int64_t>(values.size());
  {
    FakeHost host(Settings{{"basename", folder.file("storm")}}, {variable});
    host.place(0, 1);
    RunningPlugin plugin("hdf5", host);
    Blocks blocks(4);
    place(blocks.add(variable, 0, {count}, values), {0});
    REQUIRE(plugin.on_step(blocks.view()) == DC_OK);
    REQUIRE(plugin.finalize() == DC_OK);
  }
  FakeHost host(Settings{{"basename", folder.file("later")}, {"restart", folder.file("storm")}}, {variable});
  RunningPlugin later("hdf5", host);
  Question<Value> question(variable, 4, {count});
  const int code = later.read(question.at({0}).read);
  INFO(host.failure);
  REQUIRE(code == DC_OK);
  return question.values;
}

}  // namespace

TEST_CASE("the largest numbers of a type keep it if 16 bits would represent more") {
  constexpr float kMost = std::numeric_limits<float>::max();
  CHECK(through_16_bits<float>(DC_FLOAT32, {kMost, 0, -kMost}) == std::vector<float>{kMost, 0, -kMost});
}

TEST_CASE(
    "16 bits with a scale chosen by the server are read back as the values that its manifest defines, in either type of reals") {
  const std::vector<double> values = {300, 301, 302.5, 290};
  const auto singles = through_16_bits<float>(DC_FLOAT32, {values.begin(), values.end()});
  const auto doubles = through_16_bits<double>(DC_FLOAT64, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(singles[i] == Approx(values[i]).margin(0.01));
    CHECK(doubles[i] == Approx(values[i]).margin(0.01));
  }
}

TEST_CASE("a missing run is named with the remedy") {
  const TempFolder nothing;
  const HandRecord record(nothing.path());
  const std::vector<dc_variable_info_t> variables = {theta()};
  Later later(record, variables);
  Question<float> question(variables[0], 4, {2, 2});
  CHECK(later.plugin.read(question.read) == DC_E_NOT_STORED);
  CHECK_THAT(later.host.failure, Contains("no run is recorded in " + record.basename() + ".g*.jsonl"));
  std::int64_t step = 7;
  CHECK(later.plugin.last_step(nullptr, step) == DC_E_NOT_STORED);
  CHECK(step == 7);
}

TEST_CASE("a run whose manifest exists and cannot be opened does not count as missing") {
  const std::vector<dc_variable_info_t> variables = {theta()};
  const TempFolder folder;
  const HandRecord record(folder.path());
  std::filesystem::create_symlink(record.path(), record.path());  // root could open any file
  Later later(record, variables);
  Question<float> question(variables[0], 4, {2, 2});
  CHECK(later.plugin.read(question.read) == DC_E_IO);
  CHECK_THAT(later.host.failure, Contains("cannot be read: cannot look at " + record.path()));
  std::int64_t step = 9;
  CHECK(later.plugin.last_step(nullptr, step) == DC_E_IO);
  CHECK(step == 9);
}

TEST_CASE("without restart there is no run to read from") {
  const std::vector<dc_variable_info_t> variables = {theta()};
  Fixture fixture(variables);
  Question<float> question(variables[0], 4, {2, 2});
  CHECK(fixture.plugin.read(question.read) == DC_E_CONFIG);
  CHECK_THAT(fixture.host.failure, Contains("restart=\"out/storm\""));
}

TEST_CASE("a missing step is refused, and its neighbours are named") {
  Earlier earlier;
  manifest::StepEntry step = earlier.step();
  earlier.record.add(step);
  step.step = 9;
  earlier.record.add(step);
  Later later(earlier.record, earlier.variables);
  const auto sentence_of = [&](std::int64_t number) {
    Question<float> question(earlier.variables[0], number, {2, 2});
    CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_NOT_STORED);
    return later.host.failure;
  };
  const std::string start = " is not in " + earlier.record.basename() + ": the nearest steps stored are ";
  CHECK(sentence_of(5) == "'fields/theta' of step 5" + start + "4 and 9");
  CHECK(sentence_of(3) == "'fields/theta' of step 3" + start + "4");
  CHECK(sentence_of(12) == "'fields/theta' of step 12" + start + "9");
}

TEST_CASE("a partial step is refused if it has a hole") {
  Earlier earlier;
  manifest::StepEntry step = earlier.step();
  step.complete = false;
  step.missing = {1};
  earlier.record.add(step);
  Later later(earlier.record, earlier.variables);
  Question<float> question(earlier.variables[0], 4, {2, 4});
  CHECK(later.plugin.read(question.at({5, 0}).read) == DC_E_NOT_STORED);
  CHECK_THAT(later.host.failure, Contains("were not stored; clients that never ended it: 1; the step is not complete"));
}

TEST_CASE("a type other than the stored one is refused") {
  Earlier earlier;
  earlier.record.add(earlier.step());
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "fields/theta", DC_FLOAT64, 2)};
  Later later(earlier.record, variables);
  Question<double> question(variables[0], 4, {2, 2});
  CHECK(later.plugin.read(question.at({0, 0}).read) == DC_E_TYPE);
  CHECK_THAT(later.host.failure, Contains("the dataset 'fields/theta' has another element type"));
}

TEST_CASE("members of a compound type may have other offsets, but must be the same") {
  const dc_field_t unpadded[] = {{"id", DC_INT32, 1, 0}, {"place", DC_FLOAT64, 2, 4}};
  const dc_field_t aligned[] = {{"place", DC_FLOAT64, 2, 0}, {"id", DC_INT32, 1, 16}};
  const dc_field_t other[] = {{"place", DC_FLOAT64, 2, 0}, {"id", DC_INT64, 1, 16}};
  const auto info = [](const dc_field_t* fields, std::uint64_t bytes) {
    dc_variable_info_t variable = variable_info(0, "particles", DC_COMPOUND, 1);
    variable.element_bytes = bytes;
    variable.field_count = 2;
    variable.fields = fields;
    variable.type_name = "particle";
    return std::vector<dc_variable_info_t>{variable};
  };
#pragma pack(push, 1)
  struct Stored {
    std::int32_t id;
    double place[2];
  };
#pragma pack(pop)
  struct Wanted {
    double place[2];
    std::int32_t id;
  };
  const auto variables = info(unpadded, sizeof(Stored));
  Fixture fixture(variables);
  Blocks blocks(4);
  blocks.add(variables[0], 0, {2}, std::vector<Stored>{{7, {1.5, 2.5}}, {8, {3.5, 4.5}}});
  fixture.stored(blocks);
  const HandRecord record(fixture.folder.path());
  record.add(record.step(4, fixture.path(4), {source_dataset("particles", 0, {2})}));

  const auto wanted = info(aligned, sizeof(Wanted));
  Later later(record, wanted);
  Question<Wanted> question(wanted[0], 4, {2});
  later.reads(question);
  CHECK(question.values[1].id == 8);
  CHECK(question.values[1].place[1] == 4.5);

  const auto wrong = info(other, 24);
  Later never(record, wrong);
  CHECK(never.plugin.read(question.read) == DC_OK);  // the question brings its own description
  question.read.variable = &wrong[0];
  CHECK(never.plugin.read(question.read) == DC_E_TYPE);
  CHECK_THAT(never.host.failure, Contains("'particle'"));
}

TEST_CASE("the last step is the last complete one that contains the variable") {
  Earlier earlier;
  const dc_variable_info_t particles = variable_info(1, "particles", DC_FLOAT64, 1);
  const auto add = [&](std::int64_t number, bool complete, const manifest::DatasetEntry& dataset) {
    manifest::StepEntry step = earlier.record.step(number, earlier.fixture.path(4), {dataset});
    step.complete = complete;
    earlier.record.add(step);
  };
  const manifest::DatasetEntry tile = joined_dataset("fields/theta", {0, 0}, {6, 4});
  add(2, true, source_dataset("particles", 0, {2}));
  add(4, true, tile);
  add(6, false, tile);
  Later later(earlier.record, earlier.variables);
  const auto last = [&](const dc_variable_info_t* variable) {
    std::int64_t step = -1;
    CHECK(later.plugin.last_step(variable, step) == DC_OK);
    return step;
  };
  CHECK(last(nullptr) == 4);
  CHECK(last(&earlier.variables[0]) == 4);
  CHECK(last(&particles) == 2);
  const dc_variable_info_t other = variable_info(2, "other", DC_FLOAT64, 1);
  std::int64_t step = -1;
  CHECK(later.plugin.last_step(&other, step) == DC_E_NOT_STORED);
  CHECK_THAT(later.host.failure, Contains("no complete step with 'other' is in "));
}

TEST_CASE("a step that not all servers of the run have reported is not complete, and they are named") {
  Earlier earlier;
  for (const int server : {0, 1, 2}) {
    HandLog log(earlier.record.basename(), {1, "node7", server}, 3);
    manifest::StepEntry step = earlier.step();
    if (server != 1) step.files.clear();
    log.add(step);
    step.step = 9;
    if (server != 2) log.add(step);
  }
  Later later(earlier.record, earlier.variables);
  std::int64_t last = -1;
  CHECK(later.plugin.last_step(nullptr, last) == DC_OK);
  CHECK(last == 4);
  Question<float> question(earlier.variables[0], 9, {2, 4});
  CHECK(later.plugin.read(question.at({6, 0}).read) == DC_E_NOT_STORED);
  CHECK_THAT(later.host.failure,
             Catch::EndsWith(
                 "elements (6,0) to (7,3) were not stored; the step is not complete; servers that did not report it: node7/2"));
}

TEST_CASE("a run must not replace the files from which it continues") {
  const TempFolder folder;
  const auto start = [&](const std::string& restart, const std::string& exists) {
    const FakeHost host({{"basename", folder.file("storm")}, {"restart", restart}, {"exists", exists}});
    const RunningPlugin plugin("hdf5", host);
    return std::make_pair(plugin.init_code, host.failure);
  };
  const auto [code, sentence] = start(folder.file("x/../storm"), "overwrite");
  CHECK(code == DC_E_CONFIG);
  CHECK_THAT(sentence, Contains("give this run another basename"));
  CHECK(start(folder.file("storm"), "refuse").first == DC_OK);
  CHECK(start(folder.file("storm"), "append").first == DC_OK);
  CHECK(start(folder.file("earlier"), "overwrite").first == DC_OK);
  CHECK(start(folder.file("storm"), "auto").first == DC_E_CONFIG);
  CHECK(start("", "overwrite").first == DC_E_CONFIG);
  CHECK(start("out/", "overwrite").first == DC_E_CONFIG);
  std::filesystem::create_directory_symlink(folder.path(), folder.file("links"));
  CHECK(start(folder.file("links/storm"), "overwrite").first == DC_E_CONFIG);
  CHECK(start(folder.file("links/storm"), "append").first == DC_OK);
}

TEST_CASE("a run does not continue from what another process of it has stored in the meantime") {
  const TempFolder folder;
  const Settings more = {{"exists", "append"}, {"restart", folder.file("storm")}};
  const auto server = [&](int index) { return ServerOf(folder, index, 2, more, false); };
  for (const int run : {0, 1}) {
    ServerOf early = server(0);
    REQUIRE(early.plugin->init_code == DC_OK);
    for (const int step : {1, 2}) REQUIRE(early.store(2 * run + step) == DC_OK);
    ServerOf late = server(1);
    std::int64_t last = -1;
    CHECK(late.plugin->last_step(nullptr, last) == (run == 0 ? DC_E_NOT_STORED : DC_OK));
    CHECK(last == (run == 0 ? -1 : 2));
    for (const int step : {1, 2}) REQUIRE(late.store(2 * run + step) == DC_OK);
    REQUIRE(early.plugin->finalize() == DC_OK);
    REQUIRE(late.plugin->finalize() == DC_OK);
  }
}

}  // namespace
}  // namespace damaris::test
