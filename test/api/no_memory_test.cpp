// Calls in place, with each of their allocations failing in turn: a call without effect can be repeated, and what was written is stored
// once, with its own values.
#include <damaris/damaris.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "support/failing_new.hpp"
#include "support/temp_folder.hpp"

namespace {

using namespace damaris::test;

constexpr int kSteps = 3, kValues = 4;

std::string xml(const std::string& events) {
  return "<simulation name='short'><architecture><dedicated cores='0'/></architecture><data><layout name='line' type='double' "
         "dimensions='4'/><variable name='x' layout='line'/><variable name='y' layout='line'/></data>"
         "<plugin name='recorder' using='damaris_test_recorder.so'/>" +
         events + "</simulation>";
}

// The first failure for another reason than memory.
struct Said {
  int code = DC_OK;
  std::string sentence;
};

// A run whose call number `call` finds no memory at its allocation after `after` others.
class ShortRun {
 public:
  ShortRun(const std::string& events, int call, long after) : call_(call), after_(after) {
    ::setenv("DAMARIS_TEST_LOG", folder_.file("log").c_str(), 1);
    if (dc_initialize(folder_.write("short.xml", xml(events)).c_str(), 0) != DC_OK) FAIL(dc_last_error());
  }
  ~ShortRun() {
    if (!ended_) CHECK(dc_finalize() == DC_OK);
  }

  // Tries the call until it has memory.
  int operator()(const std::function<int()>& call) {
    const bool is_short = next_++ == call_;
    int code = DC_OK;
    {
      const FailsAfter fails(is_short ? after_ : -1);
      code = call();
    }
    if (is_short) was_short = any_failed();
    for (; code == DC_E_MEMORY; code = call()) ++repeated;
    if (code < DC_OK && said.code == DC_OK) said = {code, dc_last_error()};
    return code;
  }
  // Once: it ends the session, whatever it returns.
  int finalize() {
    ended_ = true;
    const bool is_short = next_++ == call_;
    const FailsAfter fails(is_short ? after_ : -1);
    const int code = dc_finalize();
    if (is_short) was_short = any_failed();
    return code;
  }
  int calls() const { return next_; }
  std::vector<std::string> lines() const {
    std::ifstream log(folder_.file("log.s0"));
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);) found.push_back(line);
    return found;
  }

  bool was_short = false;
  int repeated = 0;
  Said said;

 private:
  TempFolder folder_;
  int call_, next_ = 0;
  long after_;
  bool ended_ = false;
};

using Line = double[kValues];

void fill(Line& line, int step, int block) {
  for (double& value : line) value = 100 * step + block;
}

void write_step(ShortRun& run, int step, bool signals) {
  Line line;
  for (int block = 0; block < 4; ++block) {
    fill(line, step, block);
    void* allocated = nullptr;
    const std::int64_t extents[1] = {kValues};
    const std::ptrdiff_t strides[1] = {sizeof(double)};
    if (block % 2 == 0)
      run([&] { return dc_write_block("x", step, block, line); });
    else if (run([&] { return dc_alloc("x", step, block, &allocated); }) == DC_OK) {
      std::copy_n(line, kValues, static_cast<double*>(allocated));
      run([&] { return dc_commit("x", step, block); });
    }
    run([&] { return dc_write_typed("y", step, block, DC_FLOAT64, line, 1, extents, strides); });
  }
  run([&] { return dc_set_time(step, step + 0.5); });
  if (signals) run([&] { return dc_signal("seen", step); });
  run([&] { return dc_end_iteration(step); });
  run([&] { return dc_flush(step, 60'000); });
}

struct Result {
  bool was_short = false;
  int calls = 0;
  Said said;
  int finalized = DC_OK;
  std::vector<std::string> lines;
};

Result store(const std::string& events, int call, long after) {
  ShortRun run(events, call, after);
  for (int step = 0; step < kSteps; ++step) write_step(run, step, !events.empty());
  const int finalized = run.finalize();
  return {run.was_short, run.calls(), run.said, finalized, run.lines()};
}

}  // namespace

TEST_CASE("whichever allocation of a call in place fails, the call can be repeated, and each step is stored as without that") {
  const Result whole = store("", -1, 0);
  REQUIRE(whole.lines.size() >= kSteps);
  for (int call = 0; call < whole.calls; ++call) {
    Result result = {true, 0, {}, DC_OK, {}};
    for (long after = 0; result.was_short; ++after) {
      INFO("call " << call << ", the allocation after " << after << " others");
      result = store("", call, after);
      CHECK(result.said.code == DC_OK);
      CHECK(result.said.sentence.empty());
      CHECK((result.finalized == DC_OK || call == whole.calls - 1));
      if (result.finalized == DC_OK) CHECK(result.lines == whole.lines);
    }
  }
}

TEST_CASE(
    "where the server in place cannot repeat work that a failed allocation has interrupted, it ends, says so, and stores nothing "
    "wrong") {
  const std::string events = "<event name='seen' action='record' using='damaris_test_recorder.so' scope='core'/>";
  const Result whole = store(events, -1, 0);
  REQUIRE(whole.lines.size() >= 2 * kSteps);
  int went_on = 0, ended = 0;
  for (int call = 0; call < whole.calls; ++call) {
    Result result = {true, 0, {}, DC_OK, {}};
    for (long after = 0; result.was_short; ++after) {
      INFO("call " << call << ", the allocation after " << after << " others");
      result = store(events, call, after);
      const bool is_whole = result.said.code == DC_OK && result.finalized == DC_OK;
      ++(is_whole ? went_on : ended);
      if (is_whole)
        CHECK(result.lines == whole.lines);
      else if (call < whole.calls - 1)
        CHECK_THAT(result.said.sentence, Catch::Contains("a fault has ended") || Catch::Contains("was ended by a fault"));
      for (const std::string& line : result.lines) {
        INFO(line);
        CHECK(std::count(result.lines.begin(), result.lines.end(), line) == 1);
        CHECK(std::find(whole.lines.begin(), whole.lines.end(), line) != whole.lines.end());
      }
    }
  }
  CHECK(went_on > ended);
  CHECK(ended > 0);
}
