// One run of a scenario: its threads as coroutines, of which one goes on at each access.
// Used by: the explorer of the model tests.
// Before it: the choices of the run. After it: memory.hpp.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/choices.hpp"
#include "model/hooks.hpp"
#include "model/memory.hpp"

namespace damaris::explorer {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr int kMostPoints = 4000;             // of one run; more: it does not come to an end
constexpr int kMostLate = 3;                  // stores of a dead thread that are tried as early ones
constexpr std::size_t kDeath = kMemoryBytes;  // where a thread looks whether the mortal one is dead

// What a thread is about to do.
struct Step {
  enum Kind { begin, access, wait, asleep } kind = begin;
  std::size_t offset = 0;
  bool is_write = false;
};

struct Thread {
  std::function<void()> body;
  ucontext_t context = {};
  bool done = false, dead = false, knows_of_death = false;
  int late = 0;  // stores that it has left although it is dead, because they may have come early
  Step next;
  Clock clock;
  std::vector<std::size_t> read;  // since the last wait
};

struct Event {
  int thread;
  const char* what;
  std::size_t offset;
  std::uint64_t value;
  bool is_old;  // a newer store was there
};

class Run {
 public:
  Run(Scenario& scenario, Memory& memory, const Options& options, Choices& choices, std::vector<std::byte>& stacks)
      : scenario_(scenario), options_(options), choices_(choices), memory_(memory), stacks_(stacks) {}

  void execute();
  std::string trace() const;
  const std::string& error() const { return error_; }
  bool pruned() const { return pruned_; }
  Memory& memory() { return memory_; }

  // For the hooks, on a thread of the run:
  std::uint64_t load(std::size_t offset, std::size_t bytes, Order order);
  void store(std::size_t offset, std::size_t bytes, std::uint64_t value, Order order);
  std::uint64_t update(std::size_t offset, std::size_t bytes, Order order,
                       const std::function<std::uint64_t(std::uint64_t)>& change);
  struct Exchange {
    std::uint64_t expected, value;
    Order order, if_other;
  };
  std::uint64_t exchange(std::size_t offset, std::size_t bytes, const Exchange& how);
  void plain(std::size_t offset, std::size_t bytes, bool is_write);
  void wait_for_change();
  void sleep(std::size_t offset, std::uint32_t expected);
  void wake(std::size_t offset);
  void fail(const std::string& why);
  bool look_for_death(int thread);

 private:
  Thread& self() { return threads_[static_cast<std::size_t>(self_)]; }
  void prepare(Thread& thread);
  static void enter();
  void point(const Step& step);
  void may_die();
  bool is_lost(Order order);
  void go_on();
  int pick();
  unsigned enabled() const;
  bool can_go_on(const Thread& thread) const;
  bool independent(const Step& a, const Thread& of_a, const Step& b, const Thread& of_b) const;
  bool is_dead(int thread) const { return threads_[static_cast<std::size_t>(thread)].dead; }
  bool is_mortal(int thread) const {
    return std::find(options_.mortal.begin(), options_.mortal.end(), thread) != options_.mortal.end();
  }
  bool is_mortal(const Thread& thread) const { return is_mortal(static_cast<int>(&thread - threads_.data())); }
  bool process_is_dead() const { return !options_.mortal.empty() && is_dead(options_.mortal.front()); }
  std::uint64_t read(std::size_t offset, std::size_t bytes, std::size_t index, Order order);
  std::uint64_t change(std::size_t offset, std::size_t bytes, Order order,
                       const std::function<std::uint64_t(std::uint64_t)>& change);
  void check_access(const char* what, std::size_t offset, std::size_t bytes, bool is_write);
  bool waits_for(const Thread& thread, std::size_t offset) const;
  void check_deadlock();
  void note(const char* what, std::size_t offset, std::uint64_t value, bool is_old = false) {
    events_.push_back({self_, what, offset, value, is_old});
  }
  [[noreturn]] void leave();

  Scenario& scenario_;
  const Options& options_;
  Choices& choices_;
  Memory& memory_;
  std::vector<std::byte>& stacks_;
  std::vector<Thread> threads_;
  ucontext_t home_ = {};
  int self_ = -1;
  unsigned asleep_here_ = 0;  // threads whose next step was explored before another order (sleep set)
  bool pruned_ = false;
  int points_ = 0;
  std::string error_;
  std::map<std::size_t, Clock> wakes_;  // word -> what has been seen or done by the threads that have woken its sleepers
  std::vector<Event> events_;
};

// The run whose threads run now.
extern Run* active;

}  // namespace damaris::explorer
