#include "replay/stage.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/failure.hpp"
#include "core/base/format.hpp"

namespace damaris::replay {
namespace {

constexpr std::size_t kAlign = 64;

template <class Item>
constexpr std::size_t room(std::size_t count) {
  return (count * sizeof(Item) + kAlign - 1) / kAlign * kAlign;
}

std::size_t bytes_of(const Plan& plan) {
  return room<Common>(1) + 2 * room<Event>(plan.messages.size()) + room<Meeting>(plan.collectives.size()) +
         room<Event>(plan.members.size()) + room<std::uint64_t>(plan.processes.size()) +
         2 * room<std::uint64_t>(plan.operations.size());
}

std::uint64_t largest_io(const Plan& plan) {
  std::uint64_t largest = 0;
  for (const Operation& one : plan.operations)
    if (one.kind == Kind::read || one.kind == Kind::write) largest = std::max(largest, one.bytes);
  return largest;
}

char* mapped(int descriptor, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

// The memory is zero, as its atomic words are at first.
template <class Item>
Item* Stage::next(std::size_t count) {
  if (memory_ == nullptr) {
    const std::size_t bytes = bytes_of(plan);
    struct stat found {};
    const bool is_there =
        descriptor_ >= 0 && ::fstat(descriptor_, &found) == 0 &&
        (static_cast<std::size_t>(found.st_size) == bytes || ::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0);
    memory_ = is_there ? mapped(descriptor_, bytes) : nullptr;
    if (memory_ == nullptr)
      throw Error(DC_E_MEMORY, format("there is not enough memory for a plan of {} operations: {}; replay on a machine with more",
                                      plan.operations.size(), text_of_errno(errno)));
  }
  return reinterpret_cast<Item*>(memory_ + std::exchange(used_, used_ + room<Item>(count)));
}

Stage::Stage(const Plan& the_plan, const PlayFolder& the_folder, const std::string& other)
    : plan(the_plan),
      folder(the_folder),
      contents(largest_io(plan), 0),
      descriptor_(other.empty() ? ::memfd_create("replay", MFD_CLOEXEC) : ::open(other.c_str(), O_RDWR | O_CLOEXEC)),
      common(*next<Common>(1)),
      posted(next<Event>(plan.messages.size())),
      awaited(next<Event>(plan.messages.size())),
      meetings(next<Meeting>(plan.collectives.size())),
      passed(next<Event>(plan.members.size())),
      ends(next<std::uint64_t>(plan.processes.size())),
      io_ns(next<std::uint64_t>(plan.operations.size())),
      late(next<std::uint64_t>(plan.operations.size())) {
  if (other.empty() && plan.processes.size() < std::thread::hardware_concurrency()) common.spin_ns = 50'000;
}

Stage::~Stage() {
  ::munmap(memory_, bytes_of(plan));
  ::close(descriptor_);
}

std::string Stage::path() const { return format("/proc/{}/fd/{}", ::getpid(), descriptor_); }

void Stage::fail(const std::string& sentence) {
  if (!common.failed.exchange(true)) sentence.copy(common.failure, Common::kFailureBytes - 1);
  common.stopped = true;
}

Played Stage::result() const {
  if (common.failed) throw Error(DC_E_IO, common.failure);
  if (common.stopped) throw Error(DC_E_STOPPED, "interrupted");
  Played result;
  result.total = common.last;
  result.short_reads = common.short_reads;
  result.ends.assign(ends, ends + plan.processes.size());
  result.io_ns.assign(io_ns, io_ns + plan.operations.size());
  result.late.assign(late, late + plan.operations.size());
  return result;
}

}  // namespace damaris::replay
