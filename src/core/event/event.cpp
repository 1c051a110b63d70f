#include "core/event/event.hpp"

#include "core/base/format.hpp"

namespace damaris::event {

bool known(Kind kind) noexcept { return kind >= Kind::write && kind <= Kind::dropped; }

const char* kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::write:
      return "write";
    case Kind::signal:
      return "signal";
    case Kind::end_iteration:
      return "end_iteration";
    case Kind::set_time:
      return "set_time";
    case Kind::flush:
      return "flush";
    case Kind::finalize:
      return "finalize";
    case Kind::read:
      return "read";
    case Kind::last_step:
      return "last_step";
    case Kind::skipped:
      return "skipped";
    case Kind::dropped:
      return "dropped";
  }
  return "unknown";
}

std::string to_string(const Event& event) {
  std::string text = format("{} step {}", kind_name(event.kind), event.step);
  if (event.kind == Kind::write || event.kind == Kind::read) text += format(" block at {}", event.block_offset);
  if (event.kind == Kind::signal) text += format(" event {}", event.name);
  if (event.kind == Kind::last_step && event.name != kAnyVariable) text += format(" variable {}", event.name);
  if (event.kind == Kind::skipped || event.kind == Kind::dropped)
    text += format(" variable {}, {} writes", event.name, event.count);
  if (event.kind == Kind::set_time) text += format(" time {}", event.time);
  return text;
}

}  // namespace damaris::event
