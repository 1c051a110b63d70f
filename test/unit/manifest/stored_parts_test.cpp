// Which stored boxes make up what a client asks for.
#include "manifest/stored_parts.hpp"

#include <damaris/error.hpp>

#include <catch2/catch.hpp>

#include "hand_manifest.hpp"

namespace damaris::test {
namespace {

using manifest::find_parts;
using manifest::StoredPart;

const dc_variable_info_t kTheta = variable_info(0, "fields/theta", DC_FLOAT32, 2);
const dc_variable_info_t kParticles = variable_info(1, "particles", DC_FLOAT64, 1);

// Two servers hold the left and the right half of 4 x 16, which share the column 8.
manifest::StepEntry halves() {
  manifest::StepEntry step;
  step.step = 5;
  for (const std::int64_t server : {0, 1}) {
    manifest::FileEntry file;
    file.name = "s" + std::to_string(server);
    file.server = static_cast<int>(server);
    file.datasets.push_back(joined_dataset("fields/theta", {0, 8 * server}, {4, server == 0 ? 9 : 8}, {4, 16}));
    step.files.push_back(file);
  }
  return step;
}

template <class Call>
Error refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was refused");
  return Error(DC_OK, "");
}

std::int64_t elements(const manifest::FoundParts& found) {
  std::int64_t sum = 0;
  for (const manifest::StoredPart& part : found.parts) sum += volume(part.box);
  return sum;
}

TEST_CASE("a box over two files is made of both, and where they overlap the first file's values are taken") {
  const manifest::StepEntry step = halves();
  const auto parts = find_parts(step, Question<float>(kTheta, 5, {2, 8}).at({1, 4}).read).parts;
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].file->name == "s0");
  CHECK(parts[0].box == Box{2, {1, 4}, {3, 9}});
  CHECK(parts[1].file->name == "s1");
  CHECK(parts[1].box == Box{2, {1, 9}, {3, 12}});
}

TEST_CASE("rule 11: where two files overlap, the values of the lower client are taken, whatever the order of the files") {
  manifest::StepEntry step = halves();
  step.files[0].datasets[0].lowest_source = 4;
  step.files[1].datasets[0].lowest_source = 3;
  for (manifest::FileEntry& file : step.files) file.server = 0;  // detached
  for (int order = 0; order < 2; ++order, std::swap(step.files[0], step.files[1])) {
    const auto parts = find_parts(step, Question<float>(kTheta, 5, {2, 8}).at({1, 4}).read).parts;
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].file->name == "s1");
    CHECK(parts[0].box == Box{2, {1, 8}, {3, 12}});
    CHECK(parts[1].box == Box{2, {1, 4}, {3, 8}});
  }
}

TEST_CASE("every box inside the stored array is covered once, whatever its position") {
  const manifest::StepEntry step = halves();
  for (std::int64_t low = 0; low < 16; ++low)
    for (std::int64_t high = low + 1; high <= 16; ++high)
      CHECK(elements(find_parts(step, Question<float>(kTheta, 5, {3, high - low}).at({1, low}).read)) == 3 * (high - low));
}

TEST_CASE("a box without elements needs no part") {
  CHECK(find_parts(halves(), Question<float>(kTheta, 5, {0, 8}).at({1, 4}).read).parts.empty());
}

TEST_CASE("data that no server stored are named with the reason in the manifest") {
  manifest::StepEntry step = halves();
  step.files.pop_back();
  step.complete = false;
  step.missing = {2, 3};
  step.never_attached = 1;
  step.failures = {"server 1: no space"};
  const Error error = refusal([&] { find_parts(step, Question<float>(kTheta, 5, {2, 8}).at({1, 4}).read); });
  CHECK(error.code() == DC_E_NOT_STORED);
  CHECK(std::string(error.what()) ==
        "elements (1,9) to (2,11) of (1,4) to (2,11) were not stored; clients that never ended it: 2, 3; clients that never "
        "attached: 1; not stored: server 1: no space; the step is not complete");
}

TEST_CASE("an incomplete step is sufficient for a reader that requests only what was stored") {
  manifest::StepEntry step = halves();
  step.files.pop_back();
  step.complete = false;
  CHECK(elements(find_parts(step, Question<float>(kTheta, 5, {4, 9}).at({0, 0}).read)) == 36);
}

TEST_CASE("a variable that the step does not contain is refused, with whether it was skipped") {
  manifest::StepEntry step = halves();
  step.skipped = {"particles"};
  const Error error = refusal([&] { find_parts(step, Question<double>(kParticles, 5, {3}).read); });
  CHECK(error.code() == DC_E_NOT_STORED);
  CHECK(std::string(error.what()) == "the variable was not stored in that step; skipped for lack of room: particles");
}

TEST_CASE("a global array of other extents is refused, and both are named") {
  dc_variable_info_t theta = kTheta;
  theta.has_global = 1;
  const Error error = refusal([&] { find_parts(halves(), Question<float>(theta, 5, {2, 8}).at({1, 4}, {4, 32}).read); });
  CHECK(error.code() == DC_E_SHAPE);
  CHECK_THAT(error.what(), Catch::StartsWith("it was stored with the global extents (4,16), but the client requests (4,32)"));
}

TEST_CASE("a variable of another number of dimensions is refused") {
  const dc_variable_info_t flat = variable_info(0, "fields/theta", DC_FLOAT32, 1);
  CHECK(refusal([&] { find_parts(halves(), Question<float>(flat, 5, {4}).at({0}).read); }).code() == DC_E_SHAPE);
}

TEST_CASE("parts of a global array are not given to a client without a position") {
  const Error error = refusal([&] { find_parts(halves(), Question<float>(kTheta, 5, {4, 8}).read); });
  CHECK(error.code() == DC_E_SHAPE);
  CHECK_THAT(error.what(), Catch::Contains("dc_set_position"));
}

TEST_CASE("data stored without positions are not given to a client with a position") {
  manifest::StepEntry step = halves();
  step.files[1].datasets = {source_dataset("particles", 3, {7})};
  const Error error = refusal([&] { find_parts(step, Question<double>(kParticles, 5, {7}, 3).at({7}).read); });
  CHECK(error.code() == DC_E_SHAPE);
  CHECK_THAT(error.what(),
             Catch::Contains("it was stored without positions") && Catch::Contains("read it without dc_set_position"));
}

TEST_CASE("without positions each client gets its own blocks, in the same shape") {
  manifest::StepEntry step = halves();
  step.files[1].datasets = {source_dataset("particles", 3, {10}), source_dataset("particles", 3, {7}, 1)};
  Question<double> question(kParticles, 5, {7}, 3);
  question.read.block = 1;
  const auto parts = find_parts(step, question.read).parts;
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].dataset->path == "particles/3.1");
  question.read.block = 0;
  const Error shape = refusal([&] { find_parts(step, question.read); });
  CHECK(shape.code() == DC_E_SHAPE);
  CHECK_THAT(shape.what(), Catch::StartsWith("it was stored with the extents (10), but the client requests (7)"));
  question.read.source = 4;
  const Error source = refusal([&] { find_parts(step, question.read); });
  CHECK(source.code() == DC_E_NOT_STORED);
  CHECK_THAT(source.what(), Catch::StartsWith("block 0 of client 4 is not among what was stored"));
}

TEST_CASE("from a stack each client gets the layer of its block, in its original shape") {
  manifest::StepEntry step = halves();
  manifest::DatasetEntry stack = source_dataset("particles", -1, {3, 7});
  stack.path = "particles";
  stack.sources = {2, 3, 3};
  stack.blocks = {0, 0, 1};
  step.files[1].datasets = {stack};
  Question<double> question(kParticles, 5, {7}, 3);
  question.read.block = 1;
  const auto found = find_parts(step, question.read);
  REQUIRE(found.parts.size() == 1);
  CHECK(found.parts[0].box == Box{2, {2, 0}, {3, 7}});
  CHECK(found.frame == found.parts[0].box);
  const Error shape = refusal([&] { find_parts(step, Question<double>(kParticles, 5, {6}, 2).read); });
  CHECK(shape.code() == DC_E_SHAPE);
  CHECK_THAT(shape.what(), Catch::StartsWith("it was stored with the extents (7), but the client requests (6)"));
  CHECK(refusal([&] { find_parts(step, Question<double>(kParticles, 5, {7}, 4).read); }).code() == DC_E_NOT_STORED);
}

}  // namespace
}  // namespace damaris::test
