#include "core/shm/message.hpp"

#include "core/base/format.hpp"

namespace damaris::shm {

bool known(MessageKind kind) noexcept { return kind >= MessageKind::write && kind <= MessageKind::log_commit; }

const char* kind_name(MessageKind kind) noexcept {
  switch (kind) {
    case MessageKind::write:
      return "write";
    case MessageKind::signal:
      return "signal";
    case MessageKind::end_iteration:
      return "end_iteration";
    case MessageKind::set_time:
      return "set_time";
    case MessageKind::flush:
      return "flush";
    case MessageKind::finalize:
      return "finalize";
    case MessageKind::read:
      return "read";
    case MessageKind::last_step:
      return "last_step";
    case MessageKind::skipped:
      return "skipped";
    case MessageKind::dropped:
      return "dropped";
    case MessageKind::append:
      return "append";
    case MessageKind::log_commit:
      return "log_commit";
  }
  return "unknown";
}

std::string to_string(const Message& message) {
  if (message.kind == MessageKind::append) return format("append block at {}", message.block_offset);
  if (message.kind == MessageKind::log_commit) return format("log_commit log {}", message.name);
  std::string text = format("{} step {}", kind_name(message.kind), message.step);
  if (message.kind == MessageKind::write || message.kind == MessageKind::read) text += format(" block at {}", message.block_offset);
  if (message.kind == MessageKind::signal) text += format(" event {}", message.name);
  if (message.kind == MessageKind::last_step && message.name != kAnyVariable) text += format(" variable {}", message.name);
  if (message.kind == MessageKind::skipped || message.kind == MessageKind::dropped)
    text += format(" variable {}, {} writes", message.name, message.count);
  if (message.kind == MessageKind::set_time) text += format(" time {}", message.time);
  return text;
}

}  // namespace damaris::shm
