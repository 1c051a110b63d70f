#include "progress.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

namespace damaris::bench {
namespace {

volatile std::sig_atomic_t came = 0;

extern "C" void damaris_bench_on_interrupt(int) { came = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = damaris_bench_on_interrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool was_interrupted() { return came != 0; }

Progress::Progress(std::string what) : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) std::fprintf(stderr, "\r\033[K");
}

void Progress::show(int done, int total) {
  if (was_interrupted()) throw Interrupted();
  if (terminal_) std::fprintf(stderr, "\r\033[K%s: round %d of %d", what_.c_str(), done, total);
}

}  // namespace damaris::bench
