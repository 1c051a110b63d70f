// The last part of reading a plan: which files each process has open, and whether what it reads was ever written.
#include <algorithm>

#include "core/base/format.hpp"
#include "replay/reader.hpp"

namespace damaris::replay {
namespace {

// A process's view of one file.
struct State {
  std::uint32_t readers = 0, writers = 0;  // how often it is open only for reading, and for writing too
  std::uint32_t closed = 0, opened = 0;    // lines
  bool seen = false;                       // it was opened or used by this process
};

bool writes(Kind kind) { return kind == Kind::write || kind == Kind::truncate; }
bool needs_open(Kind kind) { return kind == Kind::read || writes(kind) || kind == Kind::sync || kind == Kind::close; }

void follow(Plan& plan, Process& process, const Operation& one, State& state) {
  if (one.kind == Kind::open) {
    ++((one.flags & kWrite) != 0 ? state.writers : state.readers);
    state.opened = one.line;
    state.seen = true;
  }
  if (!needs_open(one.kind)) return;
  const auto name = [&] { return format("file {} ('{}')", plan.files[one.object].number, plan.files[one.object].name); };
  if (!state.seen) {
    process.inherited.push_back(one.object);
    state.seen = true;
    state.writers = 1;
  }
  if (state.readers + state.writers == 0)
    fail(plan, one.line,
         format("process {} uses {}, which it has closed in line {}; open it before, with 'o {} rw'", process.number, name(),
                state.closed, plan.files[one.object].number));
  if (writes(one.kind) && state.writers == 0)
    fail(plan, one.line,
         format("process {} writes {}, which it has opened only for reading in line {}; open it with rw", process.number, name(),
                state.opened));
  if (one.kind == Kind::close) {
    --(state.readers > 0 ? state.readers : state.writers);
    state.closed = one.line;
  }
}

// How far each file can reach at most.
std::vector<std::uint64_t> reach_of(const Plan& plan) {
  std::vector<std::uint64_t> reach;
  for (const File& file : plan.files) reach.push_back(file.initial_bytes);
  for (const Operation& one : plan.operations)
    if (writes(one.kind)) reach[one.object] = std::max(reach[one.object], one.offset + one.bytes);
  return reach;
}

}  // namespace

void check_files(Plan& plan) {
  const std::vector<std::uint64_t> reach = reach_of(plan);
  std::vector<State> states(plan.files.size());
  for (Process& process : plan.processes) {
    for (std::uint32_t i = process.begin; i < process.end; ++i) {
      const Operation& one = plan.operations[i];
      if (!is_io(one.kind)) continue;
      follow(plan, process, one, states[one.object]);
      const File& file = plan.files[one.object];
      if (one.kind == Kind::read && one.offset + one.bytes > reach[one.object])
        fail(plan, one.line,
             format("reads up to byte {} of '{}', of which {} are ever there; give it that many in line {}, or read less",
                    one.offset + one.bytes, file.name, reach[one.object], file.line));
    }
    for (std::uint32_t i = process.begin; i < process.end; ++i)
      if (is_io(plan.operations[i].kind)) states[plan.operations[i].object] = {};
  }
}

}  // namespace damaris::replay
