#include "model/run.hpp"

#include <algorithm>
#include <cstdlib>

namespace damaris::explorer {

Run* active = nullptr;

namespace {

bool acquires(Order order) { return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst; }
bool releases(Order order) { return order == Order::release || order == Order::acq_rel || order == Order::seq_cst; }

}  // namespace

void Run::prepare(Thread& thread) {
  const auto index = static_cast<std::size_t>(&thread - threads_.data());
  ::getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = stacks_.data() + index * kStackBytes;
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  ::makecontext(&thread.context, &Run::enter, 0);
  thread.clock.time[index] = 1;
}

void Run::enter() {
  active->may_die();
  active->self().body();
  active->self().done = true;
  active->go_on();
}

void Run::execute() {
  for (auto& body : scenario_.threads()) threads_.emplace_back().body = std::move(body);
  for (Thread& thread : threads_) prepare(thread);
  active = this;
  self_ = pick();
  ::swapcontext(&home_, &self().context);
  active = nullptr;
  if (!error_.empty() || pruned_) return;
  try {
    scenario_.check_end();
  } catch (const Broken& broken) {
    error_ = "at the end: " + broken.property;
  }
}

void Run::leave() {
  ::setcontext(&home_);
  std::abort();
}

void Run::fail(const std::string& why) {
  error_ = "thread " + std::to_string(self_) + ": " + why;
  leave();
}

void Run::point(const Step& step) {
  if (self().late > 0) return;  // all others of its process are dead, and what it does now it did earlier
  if (++points_ > kMostPoints) fail("does not come to an end");
  self().next = step;
  go_on();
  may_die();
}

// A process may be killed before any access, and all its threads with it.
void Run::may_die() {
  if (!is_mortal(self_) || choices_.choose(2) == 0) return;
  note("dies", 0, 0);
  for (const int thread : options_.mortal) {
    Thread& dead = threads_[static_cast<std::size_t>(thread)];
    dead.done = dead.dead = true;
  }
  if (options_.delays) {
    self().late = kMostLate;
    return;
  }
  go_on();
}

// Of a store of a thread that is dead: one with release would have come after all the stores that are lost.
bool Run::is_lost(Order order) {
  if (self().late == 0) return false;
  if (--self().late == 0) go_on();
  return releases(order) || choices_.choose(2) == 0;
}

void Run::go_on() {
  const int next = pick();
  if (next < 0) leave();
  const int before = self_;
  self_ = next;
  if (next != before)
    ::swapcontext(&threads_[static_cast<std::size_t>(before)].context, &threads_[static_cast<std::size_t>(next)].context);
}

bool Run::waits_for(const Thread& thread, std::size_t offset) const {
  return std::find(thread.read.begin(), thread.read.end(), offset) != thread.read.end();
}

bool Run::can_go_on(const Thread& thread) const {
  if (thread.done || thread.next.kind == Step::asleep) return false;
  if (thread.next.kind != Step::wait) return true;
  const auto index = static_cast<std::size_t>(&thread - threads_.data());
  const bool news_of_death = !thread.knows_of_death && process_is_dead();
  return news_of_death || std::any_of(thread.read.begin(), thread.read.end(), [&](std::size_t offset) {
           const Location* location = memory_.find(offset);
           return location != nullptr && location->newest() > location->seen[index];
         });
}

unsigned Run::enabled() const {
  unsigned mask = 0;
  for (std::size_t t = 0; t < threads_.size(); ++t) mask |= can_go_on(threads_[t]) ? 1u << t : 0;
  return mask;
}

bool Run::independent(const Step& a, const Thread& of_a, const Step& b, const Thread& of_b) const {
  const auto looks_for_death = [](const Step& step) { return step.kind == Step::wait || step.offset == kDeath; };
  if (is_mortal(of_a) && is_mortal(of_b)) return false;  // one may die, and the other with it
  if (is_mortal(of_a) && looks_for_death(b)) return false;
  if (is_mortal(of_b) && looks_for_death(a)) return false;
  if (a.kind == Step::wait) return b.kind != Step::access || !b.is_write || !waits_for(of_a, b.offset);
  if (b.kind == Step::wait) return independent(b, of_b, a, of_a);
  if (a.kind != Step::access || b.kind != Step::access) return true;
  return a.offset != b.offset || (!a.is_write && !b.is_write);
}

// The next thread; -1 when the run is over, or leads nowhere new.
int Run::pick() {
  const unsigned able = enabled();
  if (able == 0) {
    check_deadlock();
    return -1;
  }
  const unsigned fresh = able & ~asleep_here_;
  if (fresh == 0) {
    pruned_ = true;
    return -1;
  }
  int order[kMostThreads];
  std::size_t count = 0;
  if (self_ >= 0 && (fresh >> self_ & 1u) != 0) order[count++] = self_;
  for (int t = 0; t < static_cast<int>(threads_.size()); ++t)
    if (t != self_ && (fresh >> t & 1u) != 0) order[count++] = t;
  const std::size_t chosen = choices_.choose(count);
  unsigned before = asleep_here_;
  for (std::size_t i = 0; i < chosen; ++i) before |= 1u << order[i];
  const Thread& next = threads_[static_cast<std::size_t>(order[chosen])];
  asleep_here_ = 0;
  for (std::size_t t = 0; t < threads_.size(); ++t)
    if ((before >> t & 1u) != 0 && independent(threads_[t].next, threads_[t], next.next, next)) asleep_here_ |= 1u << t;
  return order[chosen];
}

void Run::check_deadlock() {
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    const Thread& thread = threads_[t];
    if (thread.done) continue;
    error_ = "thread " + std::to_string(t) +
             (thread.next.kind == Step::asleep ? " sleeps on " + scenario_.field(thread.next.offset) + " and nobody will wake it"
                                               : " waits, and nothing will change");
  }
}

void Run::check_access(const char* what, std::size_t offset, std::size_t bytes, bool is_write) {
  std::string why = memory_.note_atomic(offset, bytes, false, self_, self().clock);
  if (is_write && why.empty()) why = memory_.note_atomic(offset, bytes, true, self_, self().clock);
  if (why.empty()) return;
  note(what, offset, 0);
  fail(why);
}

// The load of one store, which the caller has chosen.
std::uint64_t Run::read(std::size_t offset, std::size_t bytes, std::size_t index, Order order) {
  Location& location = memory_.location(offset, bytes);
  location.seen[static_cast<std::size_t>(self_)] = index;
  const Store& store = location.stores[index];
  if (acquires(order)) self().clock.join(store.release);
  self().read.push_back(offset);
  note("load", offset, store.value, index != location.newest());
  return store.value;
}

std::uint64_t Run::load(std::size_t offset, std::size_t bytes, Order order) {
  point({Step::access, offset, false});
  check_access("load", offset, bytes, false);
  Location& location = memory_.location(offset, bytes);
  const std::size_t oldest = memory_.oldest_for(location, self_, self().clock, order == Order::seq_cst);
  return read(offset, bytes, location.newest() - choices_.choose(location.newest() - oldest + 1), order);
}

void Run::store(std::size_t offset, std::size_t bytes, std::uint64_t value, Order order) {
  point({Step::access, offset, true});
  if (is_lost(order)) return;
  note("store", offset, value);
  if (const std::string why = memory_.note_atomic(offset, bytes, true, self_, self().clock); !why.empty()) fail(why);
  Location& location = memory_.location(offset, bytes);
  const auto index = static_cast<std::size_t>(self_);
  Clock& clock = self().clock;
  location.stores.push_back({value, {self_, clock.time[index]}, releases(order) ? clock : Clock{}, order == Order::seq_cst});
  location.seen[index] = location.newest();
  ++clock.time[index];
  memory_.put(offset, bytes, value);
}

std::uint64_t Run::change(std::size_t offset, std::size_t bytes, Order order,
                          const std::function<std::uint64_t(std::uint64_t)>& change) {
  if (is_lost(order)) return memory_.location(offset, bytes).stores.back().value;
  check_access("update", offset, bytes, true);
  Location& location = memory_.location(offset, bytes);
  const Store before = location.stores.back();
  const auto index = static_cast<std::size_t>(self_);
  Clock& clock = self().clock;
  if (acquires(order)) clock.join(before.release);
  Store after = {change(before.value), {self_, clock.time[index]}, releases(order) ? clock : Clock{}, order == Order::seq_cst};
  after.release.join(before.release);  // a release sequence goes on through updates
  note("update", offset, after.value);
  self().read.push_back(offset);
  location.stores.push_back(after);
  location.seen[index] = location.newest();
  ++clock.time[index];
  memory_.put(offset, bytes, after.value);
  return before.value;
}

std::uint64_t Run::update(std::size_t offset, std::size_t bytes, Order order,
                          const std::function<std::uint64_t(std::uint64_t)>& change) {
  point({Step::access, offset, true});
  return this->change(offset, bytes, order, change);
}

// Either it changes the newest value, or it is a load of any other value that its thread may see.
std::uint64_t Run::exchange(std::size_t offset, std::size_t bytes, const Exchange& how) {
  point({Step::access, offset, true});
  check_access("compare", offset, bytes, false);
  Location& location = memory_.location(offset, bytes);
  const std::size_t oldest = memory_.oldest_for(location, self_, self().clock, how.if_other == Order::seq_cst);
  std::vector<std::size_t> others;
  for (std::size_t at = location.newest() + 1; at-- > oldest;)
    if (location.stores[at].value != how.expected) others.push_back(at);
  const bool may_change = location.stores.back().value == how.expected;
  const std::size_t chosen = choices_.choose(others.size() + (may_change ? 1 : 0));
  if (chosen < others.size()) return read(offset, bytes, others[chosen], how.if_other);
  return change(offset, bytes, how.order, [&](std::uint64_t) { return how.value; });
}

void Run::plain(std::size_t offset, std::size_t bytes, bool is_write) {
  if (self().late > 0) return;
  if (is_write && threads_.size() == 1) may_die();  // with others, only where these may run
  const std::string why = memory_.note_plain(offset, bytes, is_write, self_, self().clock);
  if (why.empty()) return;
  note(is_write ? "plain write" : "plain read", offset, bytes);
  fail(why);
}

void Run::wait_for_change() {
  if (self().late > 0) go_on();
  Thread& me = self();
  std::sort(me.read.begin(), me.read.end());
  me.read.erase(std::unique(me.read.begin(), me.read.end()), me.read.end());
  me.next = {Step::wait, 0, false};
  go_on();
  note("goes on", 0, 0);
  me.knows_of_death = process_is_dead();
  for (const std::size_t offset : me.read)
    if (const Location* known = memory_.find(offset))
      memory_.location(offset, known->bytes).seen[static_cast<std::size_t>(self_)] = known->newest();
  me.read.clear();
}

bool Run::look_for_death(int thread) {
  point({Step::access, kDeath, false});
  return is_dead(thread);
}

// The kernel looks at the word under a lock of its own, which the waking thread takes, too.
void Run::sleep(std::size_t offset, std::uint32_t expected) {
  if (self().late > 0) go_on();
  point({Step::access, offset, true});
  Location& word = memory_.location(offset, sizeof expected);
  Clock known = self().clock;
  known.join(wakes_[offset]);
  const std::size_t oldest = memory_.oldest_for(word, self_, known, true);
  std::size_t stays = 0;
  for (std::size_t at = oldest; at <= word.newest(); ++at) stays += word.stores[at].value == expected ? 1 : 0;
  const bool may_go_on = stays < word.newest() + 1 - oldest;
  note("sleeps while", offset, expected);
  if (stays > 0 && !(may_go_on && choices_.choose(2) == 1)) {
    self().next = {Step::asleep, offset, false};
    go_on();
    note("wakes up", offset, 0);
  }
  // What it has seen there, in the kernel, its later loads see too.
  Location& now = memory_.location(offset, sizeof expected);
  now.seen[static_cast<std::size_t>(self_)] = now.newest();
}

void Run::wake(std::size_t offset) {
  if (self().late > 0) return;
  point({Step::access, offset, true});
  note("wakes sleepers", offset, 0);
  wakes_[offset].join(self().clock);
  for (Thread& thread : threads_)
    if (thread.next.kind == Step::asleep && thread.next.offset == offset) thread.next = {};
}

std::string Run::trace() const {
  std::string text;
  for (const Event& event : events_)
    text += "  thread " + std::to_string(event.thread) + " " + event.what + " " + scenario_.field(event.offset) + "@" +
            std::to_string(event.offset) + " " + std::to_string(event.value) + (event.is_old ? " (old)" : "") + "\n";
  return text;
}

}  // namespace damaris::explorer
