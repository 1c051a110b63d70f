// Whatever changes in the bytes of a run that has ended is found by `damaris verify`, and restart does not read it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/base/json.hpp"
#include "manifest/manifest.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"
#include "unit/plugins/hdf5/earlier_run.hpp"
#include "unit/plugins/hdf5/run_server.hpp"

using namespace damaris::test;
using damaris::manifest::Manifest;
using damaris::manifest::Verification;

// HDF5 1.10 does not free all that it has read of a file when it finds the file damaged; the address sanitizer asks here.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5_"; }

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

void flip(std::string& bytes, std::size_t bit) { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8); }

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    lines.push_back(text.substr(begin, text.find('\n', begin) + 1 - begin));
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// Two runs of one basename, the second of which stores anew from step 1 on.
struct EndedRun {
  explicit EndedRun(std::size_t values = 4) {
    for (const char* exists : {"overwrite", "append"}) {
      ServerOf server(folder, 0, 1, {{"exists", exists}});
      for (const int step : exists == std::string("append") ? std::vector<int>{1, 2} : std::vector<int>{0, 1})
        REQUIRE(server.store(step, values) == DC_OK);
      REQUIRE(server.plugin->finalize() == DC_OK);
    }
  }
  std::string log() const { return folder.file("storm.g2.node7.s0.jsonl"); }
  // As `damaris verify` ends with status 1.
  bool verify_objects() const {
    const Verification found = damaris::hdf5::verify(folder.file("storm"), {});
    return !found.damaged.empty() || !found.partial.empty() || !found.not_recorded.empty() || !found.has_ended;
  }
  TempFolder folder;
};

// Of the manifest alone: what a reader says of its bytes.
bool reader_objects(const TempFolder& folder) {
  Manifest manifest(folder.file("storm"));
  manifest.read_on();
  return !manifest.damaged().empty() || !manifest.cut_off().empty();
}

}  // namespace

TEST_CASE("a changed bit anywhere in the manifest is detected") {
  const EndedRun run;
  REQUIRE_FALSE(run.verify_objects());
  const std::string bytes = content(run.log());
  std::mt19937 random(7);
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string changed = bytes;
    flip(changed, 8 * byte + random() % 8);
    put(run.log(), changed);
    if (!reader_objects(run.folder)) FAIL_CHECK("byte " << byte << " of " << bytes.size() << ": " << changed);
  }
}

TEST_CASE("removed, repeated or exchanged lines of the manifest are detected") {
  const EndedRun run;
  const Lines lines = lines_of(content(run.log()));
  const auto objects = [&](const Lines& changed) {
    put(run.log(), joined(changed));
    return run.verify_objects();
  };
  for (std::size_t k = 0; k < lines.size(); ++k) {
    INFO("line " << k + 1 << " of " << lines.size() << ": " << lines[k].substr(0, 60));
    Lines changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
    CHECK(objects(changed));
    CHECK(objects({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(k)}));
    for (std::size_t at = 0; at <= lines.size(); ++at) {
      changed = lines;
      changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), lines[k]);
      CHECK(objects(changed));
    }
    for (std::size_t other = k + 1; other < lines.size(); ++other) {
      changed = lines;
      std::swap(changed[k], changed[other]);
      CHECK(objects(changed));
    }
  }
  CHECK_FALSE(objects(lines));
}

TEST_CASE("a file of a run that is changed by a bit, truncated, longer or missing is detected, and so are views") {
  const EndedRun run;
  const char* const name = GENERATE("storm.node7.s0.i0.h5", "storm.node7.s0.i2.h5", "storm.h5", "storm.xmf");
  INFO(name);
  const fs::path path = run.folder.file(name);
  const std::string bytes = content(path);
  REQUIRE_FALSE(bytes.empty());
  std::mt19937 random(11);
  for (int time = 0; time < 150; ++time) {
    std::string changed = bytes;
    const std::size_t bit = random() % (8 * bytes.size());
    flip(changed, bit);
    put(path, changed);
    if (!run.verify_objects()) FAIL_CHECK("bit " << bit);
  }
  put(path, bytes.substr(0, bytes.size() - 1));
  CHECK(run.verify_objects());
  put(path, bytes + "x");
  CHECK(run.verify_objects());
  fs::remove(path);
  CHECK(run.verify_objects());
  put(path, bytes);
  CHECK_FALSE(run.verify_objects());
}

TEST_CASE("files that were exchanged between steps or between runs are detected") {
  const EndedRun run, other(5);
  const auto one = run.folder.file("storm.node7.s0.i0.h5"), two = run.folder.file("storm.node7.s0.i2.h5");
  const auto exchange = [](const std::string& a, const std::string& b) {
    const std::string of_a = content(a);
    put(a, content(b));
    put(b, of_a);
  };
  exchange(one, two);
  CHECK(run.verify_objects());
  exchange(one, two);
  REQUIRE_FALSE(run.verify_objects());
  for (const char* name : {"storm.node7.s0.i2.h5", "storm.g2.node7.s0.jsonl"}) {
    INFO(name);
    REQUIRE(content(run.folder.file(name)) != content(other.folder.file(name)));
    exchange(run.folder.file(name), other.folder.file(name));
    CHECK(run.verify_objects());
    CHECK(other.verify_objects());
    exchange(run.folder.file(name), other.folder.file(name));
  }
  CHECK_FALSE(run.verify_objects());
}

TEST_CASE("a view whose earlier state was restored is distinguished from a damaged one") {
  const TempFolder folder;
  ServerOf server(folder, 0, 1);
  REQUIRE(server.store(1) == DC_OK);
  while (server.plugin->on_idle() == DC_AGAIN) {
  }
  const std::string early = content(folder.file("storm.h5"));
  REQUIRE(server.store(2) == DC_OK);
  REQUIRE(server.plugin->finalize() == DC_OK);
  REQUIRE(damaris::hdf5::verify(folder.file("storm"), {}).partial.empty());
  put(folder.file("storm.h5"), early);
  const Verification found = damaris::hdf5::verify(folder.file("storm"), {});
  CHECK(found.damaged.empty());
  REQUIRE(found.partial.size() == 1);
  CHECK(found.partial[0].file == "storm.h5");
}

TEST_CASE("restart reads nothing of a step whose line or file has changed by a bit") {
  const bool in_record = GENERATE(true, false);
  const EndedRun run;
  const HandRecord earlier(run.folder.path());
  for (const char* suffix : {".g1.node7.s0.jsonl", ".g2.node7.s0.jsonl"})
    fs::copy_file(run.folder.file("storm") + suffix, earlier.basename() + suffix);
  const std::vector<dc_variable_info_t> variables = {variable_info(0, "fields/v", DC_FLOAT32, 1)};
  const auto read = [&](std::int64_t step) {
    Later later(earlier, variables);
    Question<float> question(variables[0], step, {4});
    const int code = later.plugin.read(question.read);
    if (code == DC_OK) CHECK(question.values == std::vector<float>(4, static_cast<float>(step)));
    return code;
  };
  REQUIRE(read(2) == DC_OK);
  const fs::path path =
      in_record ? fs::path(earlier.basename() + ".g2.node7.s0.jsonl") : fs::path(run.folder.file("storm.node7.s0.i2.h5"));
  const std::string bytes = content(path);
  const std::size_t begin = in_record ? bytes.rfind('\n', bytes.rfind("\"step\":2")) + 1 : 0,
                    end = in_record ? bytes.find('\n', begin) : bytes.size();
  std::mt19937 random(13);
  for (int time = 0; time < 60; ++time) {
    std::string changed = bytes;
    const std::size_t bit = 8 * begin + random() % (8 * (end - begin));
    flip(changed, bit);
    put(path, changed);
    if (read(2) == DC_OK) FAIL_CHECK("bit " << bit);
  }
}
