// Runs a few threads over a piece of shared memory in every order, and with every old value that C++ allows them to see.
// Used by: the model tests; the code under test is compiled with gcc's -fsanitize=thread, whose calls land in tsan_hooks.cpp instead of
// in the sanitizer, so that it is the very source that runs in production.
// Before it: a scenario. After it: a sentence and a trace when something can go wrong.
//
// What is modelled: every atomic access is a point where another thread may go on; a load may return any store that is neither older
// than one its thread has seen nor hidden by one that happens before it; release and acquire join vector clocks; seq_cst accesses are in
// the order in which they run. A plain access that does not happen after a plain or atomic write of the same bytes is an error. What
// is not: loads that see stores of the future, and fences (there are none).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace damaris::explorer {

enum class Access { load, store, update };

// A memory order of the code made weaker, to see that the scenario needs it: accesses of that kind to that field are relaxed.
struct Weakening {
  std::string field;
  Access access = Access::load;
};

// One run of a scenario: made anew for each order. It fills what it uses of the memory first.
class Scenario {
 public:
  virtual ~Scenario() = default;
  // The threads, at most kMostThreads. What their bodies share and the explorer shall watch lies in `memory`.
  virtual std::vector<std::function<void()>> threads() = 0;
  // The name of the field at `offset` of the memory: "head", "state".
  virtual std::string field(std::size_t offset) const = 0;
  // When all have ended.
  virtual void check_end() {}
};

constexpr std::size_t kMostThreads = 3;
constexpr std::size_t kMemoryBytes = 40 * 1024;

struct Options {
  std::vector<Weakening> weakenings;
  int mortal = -1;                      // this thread may also stop for ever at any access
  std::uint64_t most_runs = 5'000'000;  // more: the scenario is too large, which is an error
};

struct Outcome {
  std::uint64_t runs = 0, pruned = 0;  // orders seen to the end; left because another order is the same
  std::string error;                   // "": none in any order
  std::string trace;                   // of the run with the error
};

using Make = std::function<std::unique_ptr<Scenario>(std::byte* memory)>;
Outcome explore(const Make& make, const Options& options = {});

// Thrown by expect in check_end.
struct Broken {
  std::string property;
};

// For the bodies of threads:

// A property that must hold; ends the run as an error.
void expect(bool holds, const std::string& property);
// Nothing can go on before another thread changes what this one has read since the last call.
void wait_for_change();
// Whether the mortal thread has stopped for ever.
bool is_dead(int thread);

}  // namespace damaris::explorer
