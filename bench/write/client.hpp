// The client whose writes are timed, and the plain memcpy they are compared with.
// Used by: the write benchmark's process, or each of several clients; one thread, pinned to the client's core.
// Before it: a LocalServer. After it: samples.
#pragma once

#include <damaris/damaris.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memory.hpp"
#include "stopwatch.hpp"
#include "write/configuration.hpp"

namespace damaris::bench {

enum class Method { plain_memcpy, write_to, write_by_name, alloc_commit };
inline constexpr std::array<Method, 4> kMethods = {Method::plain_memcpy, Method::write_to, Method::write_by_name,
                                                   Method::alloc_commit};
const char* method_name(Method method);

class WriteClient {
 public:
  // Attaches as client `id`; `source` and `target` stay alive as long as the client. Throws Error.
  WriteClient(const std::string& config, const WritePlan& plan, Circle& source, Circle& target, int id = 0);
  ~WriteClient();
  WriteClient(const WriteClient&) = delete;
  WriteClient& operator=(const WriteClient&) = delete;

  // Writes each large size, in steps of its own, until the way to copy it is decided: what is measured is that way.
  void decide_copies();
  // Hands over all datasets of a size once, in the open step. alloc_commit includes a memcpy into what was handed out.
  Sample measure(Method method, std::size_t size);
  // The same one write at a time.
  Sample measure_one(Method method, std::size_t size, int index);
  // Ends the open step, and waits until the server has released what was written before the last `behind` steps.
  void end_step(int behind);
  std::int64_t step() const noexcept { return step_; }

 private:
  struct Target {
    std::string name;
    dc_variable_t* handle = nullptr;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
  };
  int call(Method method, const Target& to, std::uint64_t bytes);
  void place(std::size_t size, int index);

  std::vector<SizeCase> sizes_;
  std::vector<std::vector<Target>> targets_;  // by size, then index
  Circle& source_;
  Circle& target_;
  std::int64_t step_ = 0;
};

}  // namespace damaris::bench
