// A real damaris-server as a child process, on the server's core.
// Used by: the benchmarks' process, one thread.
// Before it: an XML file. After it: clients attach with dc_initialize.
#pragma once

#include <sys/types.h>

#include <string>

#include "machine.hpp"

namespace damaris::bench {

class LocalServer {
 public:
  // Returns when the server is ready for `clients` clients, pinned to the `core`-th of the cores allowed. Throws Error with what it
  // said when it refuses, or after 60 s.
  LocalServer(const std::string& config, int clients, std::size_t core = kServerCore);
  // The clients have left: gives the server 20 s to end by itself, then kills it.
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  // Processor time the server has used so far, all its threads. Units: nanoseconds.
  double cpu_ns() const;

 private:
  void wait_until_ready(int pipe) const;
  void stop() noexcept;
  pid_t pid_ = -1;
};

}  // namespace damaris::bench
