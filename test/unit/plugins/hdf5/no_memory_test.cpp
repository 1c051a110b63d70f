// A server that is short of memory: a step that is lost has a line in the manifest, whichever allocation failed.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "support/failing_new.hpp"
#include "unit/plugins/hdf5/fixture.hpp"
#include "unit/plugins/hdf5/record_text.hpp"

using namespace damaris::test;
using damaris::manifest::StepEntry;

namespace {

// A plugin in the scope of the program, whose operator new it then has.
constexpr int kProgramScope = RTLD_NOW | RTLD_LOCAL;

// The host of a real server throws, too, if it cannot keep a sentence.
template <class Call>
int code_of(Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return DC_E_PLUGIN;
  }
}

struct ThreeBlocks {
  explicit ThreeBlocks(std::int64_t step, const dc_variable_info_t& variable) : blocks(step) {
    for (std::int32_t source = 0; source < 3; ++source) blocks.add(variable, source, {4}, std::vector<double>(4, step * 1.0));
  }
  Blocks blocks;
};

struct Shortage {
  bool in_place, has_next;  // another step comes afterwards
  long after = -1;          // the allocation after so many others of the call fails
  long room = -1;           // or: the call has so many bytes
};

enum Outcome {
  kFine,
  kNotReached,
  kNoLine,
  kLineOfOthers,
  kCompleteWithoutFile,
  kNoReason,
  kFileNotNamed,
  kWrongCode,
  kTerminated,
  kThrown
};

// What the manifest says of step 1, which was stored when memory was short.
Outcome outcome_of(const StepEntry& line, int code, bool has_file) {
  const bool names_file = line.files.size() == 1;
  if (line.servers != std::vector<int>{0}) return kLineOfOthers;
  if (has_file != names_file) return kFileNotNamed;
  if (line.complete && !names_file) return kCompleteWithoutFile;
  if (!line.complete && line.failures.empty()) return kNoReason;
  return code == DC_OK && !line.complete ? kWrongCode : kFine;
}

Outcome run(const Shortage& shortage) {
  const auto variable = variable_info(0, "v", DC_FLOAT64, 1);
  const TempFolder folder;
  FakeHost host({{"basename", folder.file("storm")}, {"retry-ms", "0"}}, {variable});
  host.place(0, 1);
  host.cut_off();
  if (!shortage.in_place) host.set_regions("/damaris.hdf5_test.");
  int code = DC_OK;
  {
    RunningPlugin plugin("hdf5", host, kProgramScope);
    ThreeBlocks zero(0, variable), one(1, variable), two(2, variable);
    if (plugin.on_step(zero.blocks.view()) != DC_OK) return kThrown;
    const dc_step_t& step = one.blocks.view();
    {
      const FailsAfter fails(shortage.after);
      const HasOnly has(shortage.room);
      code = code_of([&] { return plugin.on_step(step); });
    }
    if (shortage.has_next && plugin.on_step(two.blocks.view()) != DC_OK) return kThrown;
    if (plugin.finalize() != DC_OK) return kThrown;
  }
  const auto steps = steps_in(folder.file("storm.jsonl"));
  if (steps.count(0) == 0 || steps.count(1) == 0 || steps.count(2) != (shortage.has_next ? 1u : 0u)) return kNoLine;
  const Outcome outcome = outcome_of(steps.at(1), code, std::filesystem::exists(folder.file("storm.node7.s0.i1.h5")));
  return outcome == kFine && !any_failed() ? kNotReached : outcome;
}

// In a process of its own, which ends where a destructor of the JSON library finds no memory.
Outcome run_apart(const Shortage& shortage) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::set_terminate([] { ::_exit(kTerminated); });
    Outcome outcome = kThrown;
    try {
      outcome = run(shortage);
    } catch (...) {  // the outcome says it
    }
    ::_exit(outcome);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return static_cast<Outcome>(WEXITSTATUS(status));
}

}  // namespace

TEST_CASE(
    "a step that is lost because an allocation fails has a line in the manifest that says so, at the latest with the next one") {
  load_plugin("hdf5", kProgramScope);
  const bool in_place = GENERATE(false, true), has_next = GENERATE(true, false);
  const long stride = has_next ? 1 : 7;
  long after = 0, tried = 0, terminated = 0;
  for (Outcome outcome = kFine; outcome != kNotReached; after += stride, ++tried) {
    INFO("the allocation after " << after << " others of step 1 fails");
    outcome = run_apart({in_place, has_next, after});
    CHECK((outcome == kFine || outcome == kNotReached || outcome == kTerminated));
    if (outcome == kTerminated) ++terminated;
  }
  CHECK(after > 100);
  CHECK(terminated < tried / 4);
}

TEST_CASE("a server that has too little memory for a step goes on, and has a line of that step at the latest with the next one") {
  load_plugin("hdf5", kProgramScope);
  const bool in_place = GENERATE(false, true), has_next = GENERATE(true, false);
  long room = 0;
  for (Outcome outcome = kFine; outcome != kNotReached; room += has_next ? 1'000 : 5'000) {
    INFO("step 1 has " << room << " bytes");
    outcome = run_apart({in_place, has_next, -1, room});
    CHECK((outcome == kFine || outcome == kNotReached));
  }
  CHECK(room > 10'000);
}
