#include "replay/worker.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "core/base/failure.hpp"
#include "core/base/format.hpp"
#include "replay/outlet.hpp"

namespace damaris::replay {
namespace {

void raise(std::atomic<std::uint64_t>& largest, std::uint64_t value) {
  for (std::uint64_t known = largest; known < value && !largest.compare_exchange_weak(known, value);) continue;
}

}  // namespace

Worker::Worker(Stage& stage, std::uint32_t process)
    : stage_(stage), process_(process), waiter_(stage.common.stopped), contents_(stage.contents, process) {}

void Worker::run() noexcept {
  try {
    play();
  } catch (const std::exception& error) {
    stage_.fail(error.what());
  }
  for (const auto& [file, handles] : handles_)
    for (const Handle& one : handles) ::close(one.descriptor);
  stage_.ends[process_] = clock_;
}

void Worker::play() {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // else the kernel wakes it up to 50 us late
  const Process& process = stage_.plan.processes[process_];
  for (const std::uint32_t file : process.inherited)
    if (open(file, O_RDWR, true) != 0)
      return stage_.fail(
          format("cannot open '{}' for process {}, which uses it without opening it: {}; is the limit of open files too low, see "
                 "ulimit -n?",
                 stage_.plan.files[file].name, process.number, text_of_errno(errno)));
  std::uint64_t none = 0;
  if (!stage_.common.begun.wait(waiter_, none)) return;
  for (std::uint32_t i = process.begin; i < process.end; ++i) {
    if (!step(i)) return;
    done_.store(i - process.begin + 1, std::memory_order_relaxed);
  }
  waiter_.sleep_until(stage_.common.start + clock_, stage_.common.spin_ns);
  if (stage_.outlet != nullptr)
    if (const std::string wrong = stage_.outlet->finish(); !wrong.empty()) stage_.fail(wrong);
  raise(stage_.common.last, now_ns() - stage_.common.start);
}

// Returns false if the replay is stopped.
bool Worker::step(std::uint32_t operation) {
  const Operation& one = stage_.plan.operations[operation];
  if (is_io(one.kind)) return io(operation);
  if (is_message(one.kind)) return message(one);
  if (is_collective(one.kind)) return collective(one);
  clock_ += one.ns;
  return true;
}

bool Worker::take_later(Event& event) {
  std::uint64_t time = 0;
  if (!event.wait(waiter_, time)) return false;
  clock_ = std::max(clock_, time);
  return true;
}

bool Worker::message(const Operation& one) {
  const bool has_await = stage_.plan.messages[one.object].await != kNone;
  Event &posted = stage_.posted[one.object], &awaited = stage_.awaited[one.object];
  if (one.kind == Kind::await || (one.kind == Kind::get && !has_await)) awaited.set(clock_);
  if (one.kind == Kind::await) return true;
  const bool is_post = one.kind == Kind::post;
  if ((!is_post && !take_later(posted)) || (is_post && (one.flags & kSync) != 0 && !take_later(awaited))) return false;
  clock_ += one.ns;
  if (is_post) posted.set(clock_);
  return true;
}

bool Worker::collective(const Operation& one) {
  const Collective& all = stage_.plan.collectives[one.object];
  Meeting& meeting = stage_.meetings[one.object];
  const bool is_root = one.offset == all.root;
  if (all.kind == Kind::scan) {
    Event* const passed = &stage_.passed[all.first];
    if (one.offset > 0 && !take_later(passed[one.offset - 1])) return false;
    passed[one.offset].set(clock_);
  } else if (all.kind == Kind::from_one) {
    if (is_root) meeting.met.set(clock_);
    if (!is_root && !take_later(meeting.met)) return false;
  } else if (!meet(all, one, meeting)) {
    return false;
  }
  clock_ += one.ns;
  return true;
}

// The last one to come opens it for all, or of kind to_one for the root.
bool Worker::meet(const Collective& all, const Operation& one, Meeting& meeting) {
  raise(meeting.latest, clock_);
  if (++meeting.count == all.count) meeting.met.set(meeting.latest);
  return (all.kind == Kind::to_one && one.offset != all.root) || take_later(meeting.met);
}

bool Worker::io(std::uint32_t operation) {
  const Operation& one = stage_.plan.operations[operation];
  const std::uint64_t due = stage_.common.start + clock_;
  if (!waiter_.sleep_until(due, stage_.common.spin_ns)) return false;
  const std::uint64_t begin = now_ns();
  const std::string wrong =
      is_output(one) ? stage_.outlet->call(one, one.object - stage_.first_output, contents_.block(one.bytes)) : "";
  const int error = is_output(one) ? 0 : call(one);
  const std::uint64_t took = now_ns() - begin;
  stage_.late[operation] = begin - due;
  stage_.io_ns[operation] = took;
  clock_ += took;
  if (!wrong.empty())
    stage_.fail(format("{}:{}: process {}: {}", stage_.plan.name, one.line, stage_.plan.processes[process_].number, wrong));
  if (error == 0) return wrong.empty();
  const std::string remedy =
      error == EMFILE || error == ENFILE ? "raise the limit of open files, see ulimit -n" : "replay on another folder, see --on";
  stage_.fail(format("{}:{}: '{}' of process {} has failed on '{}/{}': {}; {}", stage_.plan.name, one.line,
                     stage_.plan.text_of(operation), stage_.plan.processes[process_].number, stage_.folder.path(),
                     stage_.plan.files[one.object].name, text_of_errno(error), remedy));
  return false;
}

// Returns 0 or an errno.
int Worker::call(const Operation& one) {
  const std::uint32_t file = one.object;
  const auto result = [](int status) { return status == 0 ? 0 : errno; };
  switch (one.kind) {
    case Kind::open:
      return open(file,
                  ((one.flags & kWrite) != 0 ? O_RDWR : O_RDONLY) | ((one.flags & kTruncate) != 0 ? O_TRUNC : 0) |
                      ((one.flags & kAppend) != 0 ? O_APPEND : 0),
                  (one.flags & kWrite) != 0);
    case Kind::write:
      return contents_.write(descriptor_of(file, true), one.offset, one.bytes);
    case Kind::read: {
      std::uint64_t got = 0;
      const int error = contents_.read(descriptor_of(file, false), one.offset, one.bytes, got);
      if (error == 0 && got < one.bytes) ++stage_.common.short_reads;
      return error;
    }
    case Kind::sync:
      return result(::fsync(descriptor_of(file, false)));
    case Kind::truncate:
      return result(::ftruncate(descriptor_of(file, true), static_cast<off_t>(one.bytes)));
    case Kind::close:
      return close(file);
    case Kind::stat: {
      struct stat found {};
      const int error = result(stage_.folder.stat(file, found));
      return error == ENOENT ? 0 : error;  // as it may have been in the recording
    }
    default: {
      const int error = result(stage_.folder.unlink(file));
      return error == ENOENT ? 0 : error;
    }
  }
}

// A file that is not there is made: the plan may lack what lets another process make it first.
int Worker::open(std::uint32_t file, int flags, bool writes) {
  const int descriptor = stage_.folder.open(file, flags | O_CREAT);
  if (descriptor < 0) return errno;
  handles_[file].push_back({descriptor, writes});
  return 0;
}

// One that only reads first: what remains can do most (files.cpp counts the same).
int Worker::close(std::uint32_t file) {
  std::vector<Handle>& handles = handles_[file];
  auto one = std::find_if(handles.begin(), handles.end(), [](const Handle& handle) { return !handle.writes; });
  if (one == handles.end()) --one;
  const int descriptor = one->descriptor;
  handles.erase(one);
  return ::close(descriptor) == 0 ? 0 : errno;
}

int Worker::descriptor_of(std::uint32_t file, bool writes) {
  const std::vector<Handle>& handles = handles_[file];
  for (auto one = handles.rbegin(); one != handles.rend(); ++one)
    if (one->writes || !writes) return one->descriptor;
  return -1;
}

}  // namespace damaris::replay
