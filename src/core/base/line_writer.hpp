// Writes log lines to a descriptor that other processes may share: a pipe, a terminal, a socket or a file. A line waits briefly for room.
// Used by: log_target.cpp, any thread, one at a time.
// Before it: a whole line. After it: the descriptor, or nothing: a line without room is dropped, because it would block the simulation.
#pragma once

#include <string_view>

namespace damaris {

class LineWriter {
 public:
  // Returns the rest that could not be written, for example to a full disk: the caller may retry it. Never blocks for longer than about a
  // second, and not at all after a line that found no room, until there is room again. Does not change the flags of the descriptor.
  std::string_view write(int descriptor, std::string_view line);

 private:
  bool is_stuck_ = false;
};

}  // namespace damaris
