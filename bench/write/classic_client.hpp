// The client whose writes go through the classic parts, timed as those of Damaris are, and the server process beside it.
// Used by: the write benchmark's process, one thread, pinned to the client's core; the server is pinned to the server's core.
// Before it: a plan and a source of copies. After it: samples.
#pragma once

#include <vector>

#include "child_process.hpp"
#include "memory.hpp"
#include "stopwatch.hpp"
#include "write/classic_parts.hpp"
#include "write/configuration.hpp"

namespace damaris::bench {

class ClassicClient {
 public:
  // Starts the server, with a segment as large as the plan's buffer; `source` stays alive as long as the client. Throws Error.
  ClassicClient(const WritePlan& plan, Circle& source);
  // Ends the server.
  ~ClassicClient();
  ClassicClient(const ClassicClient&) = delete;
  ClassicClient& operator=(const ClassicClient&) = delete;

  // Hands over all datasets of a size once, in the open step. Throws Error when one is refused.
  Sample measure(std::size_t size);
  // Ends the open step: waits until the server has freed all, so that the segment never fills. Throws Error(DC_E_INTERNAL) when
  // it has freed anything else than what it was sent.
  void end_step();

 private:
  std::vector<SizeCase> sizes_;
  Circle& source_;
  ClassicParts parts_;
  ChildProcess server_;
  std::vector<const std::byte*> sources_;  // of the writes that are timed together
  std::int64_t step_ = 0;
};

}  // namespace damaris::bench
