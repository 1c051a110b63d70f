#include "write/classic_parts.hpp"

#include <boost/date_time/posix_time/posix_time_types.hpp>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/managed_shared_memory.hpp>
#include <cstring>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/shm/shared_memory.hpp"

namespace damaris::bench {

namespace ipc = boost::interprocess;

namespace {

constexpr std::size_t kMessages = 1024;  // as many as a lane has events in the queue benchmark
constexpr std::int32_t kEndOfStep = -1;  // in the place of a variable
constexpr std::int32_t kStop = -2;

struct Message {
  std::int32_t variable;
  std::int32_t source;
  std::int64_t step;
  ipc::managed_shared_memory::handle_t handle;
  std::uint64_t bytes;
};

// Names go when the parts are made, and when they cannot be: nothing stays in /dev/shm.
class Name {
 public:
  explicit Name(std::string name) : name_(std::move(name)) { remove(); }  // of a process that had this number before
  ~Name() { remove(); }
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  const char* text() const noexcept { return name_.c_str(); }

 private:
  void remove() const noexcept { ipc::shared_memory_object::remove(name_.c_str()); }
  std::string name_;
};

ipc::managed_shared_memory make_segment(const Name& name, std::uint64_t bytes) {
  ipc::managed_shared_memory segment(ipc::create_only, name.text(), bytes, nullptr, ipc::permissions(0600));
  // Allocated now: where /dev/shm has not that much, a sentence says so instead of a SIGBUS later.
  shm::SharedMemory::open(std::string("/") + name.text(), bytes).allocate(0, bytes);
  segment.zero_free_memory();  // touched through this mapping, as a region is
  return segment;
}

ipc::message_queue make_queue(const Name& name, std::size_t message_bytes) {
  return {ipc::create_only, name.text(), kMessages, message_bytes, ipc::permissions(0600)};
}

}  // namespace

struct ClassicParts::Shared {
  Shared(const Name& segment_name, const Name& queue_name, const Name& reply_name, std::uint64_t segment_bytes)
      : segment(make_segment(segment_name, segment_bytes)),
        messages(make_queue(queue_name, sizeof(Message))),
        replies(make_queue(reply_name, sizeof(Handed))) {}

  ipc::managed_shared_memory segment;
  ipc::message_queue messages, replies;
  boost::posix_time::ptime deadline;  // of each process's own
};

ClassicParts::ClassicParts(const std::string& name, std::uint64_t segment_bytes, std::int64_t timeout_ms)
    : timeout_ms_(timeout_ms) {
  const Name segment(name), queue(name + ".messages"), replies(name + ".replies");
  try {
    shared_ = std::make_unique<Shared>(segment, queue, replies, segment_bytes);
  } catch (const ipc::interprocess_exception& error) {
    throw Error(DC_E_SHM, format("cannot make the classic parts {}: {}; check /dev/shm and its permissions", name, error.what()));
  }
  renew_deadline();
}

ClassicParts::~ClassicParts() = default;

void ClassicParts::renew_deadline() {
  shared_->deadline = boost::posix_time::microsec_clock::universal_time() + boost::posix_time::milliseconds(timeout_ms_);
}

int ClassicParts::write(std::int32_t variable, std::int64_t step, const std::byte* source, std::uint64_t bytes) {
  void* const block = shared_->segment.allocate(bytes, std::nothrow);
  if (block == nullptr) return DC_E_FULL;
  std::memcpy(block, source, bytes);
  const Message message = {variable, 0, step, shared_->segment.get_handle_from_address(block), bytes};
  if (!shared_->messages.timed_send(&message, sizeof message, 0, shared_->deadline)) {
    shared_->segment.deallocate(block);
    return DC_E_TIMEOUT;
  }
  ++sent_.blocks;
  sent_.bytes += bytes;
  return DC_OK;
}

Handed ClassicParts::end_step(std::int64_t step) {
  renew_deadline();
  const Message message = {kEndOfStep, 0, step, 0, 0};
  Handed freed;
  ipc::message_queue::size_type bytes = 0;
  unsigned priority = 0;
  if (!shared_->messages.timed_send(&message, sizeof message, 0, shared_->deadline) ||
      !shared_->replies.timed_receive(&freed, sizeof freed, bytes, priority, shared_->deadline))
    throw Error(DC_E_TIMEOUT, format("the server of the classic parts has not answered for {} ms", timeout_ms_));
  renew_deadline();  // for the writes of the next step
  return freed;
}

void ClassicParts::stop() noexcept {
  const Message message = {kStop, 0, 0, 0, 0};
  try {
    shared_->messages.try_send(&message, sizeof message, 0);
  } catch (const ipc::interprocess_exception&) {  // stopping the parts kills a server that does not answer
  }
}

std::uint64_t ClassicParts::free_bytes() const { return shared_->segment.get_free_memory(); }

void ClassicParts::serve() {
  Handed freed;
  while (true) {
    Message message;
    ipc::message_queue::size_type bytes = 0;
    unsigned priority = 0;
    renew_deadline();
    if (!shared_->messages.timed_receive(&message, sizeof message, bytes, priority, shared_->deadline))
      throw Error(DC_E_TIMEOUT, format("the client of the classic parts has sent nothing for {} ms", timeout_ms_));
    if (message.variable == kStop) return;
    if (message.variable == kEndOfStep) {
      if (!shared_->replies.timed_send(&freed, sizeof freed, 0, shared_->deadline))
        throw Error(DC_E_TIMEOUT, format("the client of the classic parts has taken no answer for {} ms", timeout_ms_));
      continue;
    }
    shared_->segment.deallocate(shared_->segment.get_address_from_handle(message.handle));
    ++freed.blocks;
    freed.bytes += message.bytes;
  }
}

}  // namespace damaris::bench
