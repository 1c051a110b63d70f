// One process of a replay.
// Used by: player.cpp, a thread each.
// Before it: the stage. After it: its part of the result.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/stage.hpp"

namespace damaris::replay {

class Worker {
 public:
  Worker(Stage& stage, std::uint32_t process);

  // Does all operations. To be called once, by the thread of this process.
  void run() noexcept;

  // By other threads: makes it notice that the stage is stopped; how many operations it has done.
  void wake() { waiter_.wake(); }
  std::size_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  struct Handle {
    int descriptor;
    bool writes;
  };

  void play();
  bool step(std::uint32_t operation);
  bool message(const Operation& one);
  bool collective(const Operation& one);
  bool meet(const Collective& all, const Operation& one, Meeting& meeting);
  bool io(std::uint32_t operation);
  bool is_output(const Operation& one) const { return one.object >= stage_.first_output; }
  int call(const Operation& one);
  int open(std::uint32_t file, int flags, bool writes);
  int close(std::uint32_t file);
  int descriptor_of(std::uint32_t file, bool writes);
  bool take_later(Event& event);

  Stage& stage_;
  const std::uint32_t process_;
  Waiter waiter_;
  Contents contents_;
  std::uint64_t clock_ = 0;                                         // virtual
  std::unordered_map<std::uint32_t, std::vector<Handle>> handles_;  // by file
  std::atomic<std::size_t> done_{0};
};

}  // namespace damaris::replay
