#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "interrupt.hpp"

namespace damaris::bench {

Progress::Progress(std::string what) : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) std::fprintf(stderr, "\r\033[K");
}

void Progress::show(int done, int total) {
  stop_if_interrupted();
  if (terminal_) std::fprintf(stderr, "\r\033[K%s: round %d of %d", what_.c_str(), done, total);
}

}  // namespace damaris::bench
