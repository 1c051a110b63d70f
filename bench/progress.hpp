// How far a benchmark is: one line on a terminal, nothing elsewhere. And what ends it before: an interrupt, SIGTERM or SIGHUP is like an
// error, so that its servers, regions and folders go; a second one ends it at once.
// Used by: every benchmark, one thread; main, before the first thread.
#pragma once

#include <stdexcept>
#include <string>

namespace damaris::bench {

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted; nothing is left running") {}
};

void catch_interrupts();
bool was_interrupted();

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Throws Interrupted once an interrupt has come.
  void show(int done, int total);

 private:
  std::string what_;
  bool terminal_;
};

}  // namespace damaris::bench
