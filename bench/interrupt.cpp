#include "interrupt.hpp"

#include <csignal>

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

void stop_if_interrupted() {
  if (was_interrupted()) throw Interrupted();
}

}  // namespace damaris::bench
