// The second half of reading a plan: who is the partner of whom, and which files are open.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/format.hpp"
#include "replay/reader.hpp"

namespace damaris::replay {
namespace {

// Indices of numbers in the order in which they appear: a table for dense numbers, as damaris plan gives them, else hashed.
class Indices {
 public:
  template <class Chosen>
  Indices(const Plan& plan, Chosen chosen) {
    std::uint64_t count = 0, largest = 0;
    for (const Operation& one : plan.operations)
      if (chosen(one.kind)) ++count, largest = std::max<std::uint64_t>(largest, one.object);
    if (count > 0 && largest <= 4 * count + 1024) table_.assign(largest + 1, kNone);
  }

  std::uint32_t of(std::uint32_t number) {
    std::uint32_t& index = table_.empty() ? hashed_.emplace(number, kNone).first->second : table_[number];
    if (index == kNone) index = size_++;
    return index;
  }
  // kNone: it has not appeared.
  std::uint32_t known(std::uint32_t number) const {
    if (!table_.empty()) return number < table_.size() ? table_[number] : kNone;
    const auto found = hashed_.find(number);
    return found == hashed_.end() ? kNone : found->second;
  }

 private:
  std::vector<std::uint32_t> table_;
  std::unordered_map<std::uint32_t, std::uint32_t> hashed_;
  std::uint32_t size_ = 0;
};

std::uint32_t line_of(const Plan& plan, std::uint32_t operation) { return plan.operations[operation].line; }
std::uint32_t number_of(const Plan& plan, std::uint32_t operation) { return plan.processes[plan.process_of(operation)].number; }

void check_message(const Plan& plan, const Message& message) {
  const std::uint32_t number = message.number;
  if (message.post == kNone && message.get != kNone)
    fail(plan, line_of(plan, message.get),
         format("process {} gets message {}, which nobody posts; add 'p {} COST' to its sender, or remove this line",
                number_of(plan, message.get), number, number));
  if (message.await != kNone && (message.get == kNone || number_of(plan, message.await) != number_of(plan, message.get)))
    fail(plan, line_of(plan, message.await),
         format("process {} receives message {} from here on, but has no line 'g {} COST'; add it, or remove this line",
                number_of(plan, message.await), number, number));
  if (message.await != kNone && message.await > message.get)
    fail(plan, line_of(plan, message.await),
         format("the receive of message {} is made known behind line {}, which gets it; write this line before it", number,
                line_of(plan, message.get)));
  if (message.post != kNone && message.get == kNone && (plan.operations[message.post].flags & kSync) != 0)
    fail(plan, line_of(plan, message.post),
         format("process {} waits for the receiver of message {}, which nobody gets; add 'g {} COST' to its receiver, or take "
                "'sync' away",
                number_of(plan, message.post), number, number));
}

// Fills plan.members, in the order of the operations.
void gather(Plan& plan) {
  for (const Operation& one : plan.operations)
    if (is_collective(one.kind)) ++plan.collectives[one.object].count;
  std::uint32_t first = 0;
  for (Collective& one : plan.collectives) {
    one.first = first;
    first += std::exchange(one.count, 0);
  }
  plan.members.resize(first);
  for (std::uint32_t process = 0; process < plan.processes.size(); ++process) {
    for (std::uint32_t i = plan.processes[process].begin; i < plan.processes[process].end; ++i) {
      const Operation& one = plan.operations[i];
      if (!is_collective(one.kind)) continue;
      Collective& collective = plan.collectives[one.object];
      plan.members[collective.first + collective.count++] = {i, process};
    }
  }
}

void check_members(const Plan& plan, const Collective& collective, const Member* members) {
  for (std::uint32_t i = 0; i < collective.count; ++i) {
    const Operation& one = plan.operations[members[i].operation];
    const Operation& first = plan.operations[members[0].operation];
    if (one.kind != first.kind)
      fail(plan, one.line,
           format("'{}' is of another kind than line {}, the same collective; write one letter in both",
                  plan.text_of(members[i].operation), first.line));
    if (i > 0 && members[i].process == members[i - 1].process)
      fail(plan, one.line,
           format("process {} has collective {} also in line {}; give one of them another number",
                  plan.processes[members[i].process].number, collective.number, line_of(plan, members[i - 1].operation)));
  }
}

// Into the order of the `collective` line, or of the numbers of processes. `place` has an entry for each process, kNone.
void order_members(const Plan& plan, const Collective& collective, Member* members, const Declared* declared,
                   const std::unordered_map<std::uint32_t, std::uint32_t>& process_of, std::vector<std::uint32_t>& place) {
  Member* const end = members + collective.count;
  if (declared == nullptr) {
    std::sort(members, end, [&plan](const Member& a, const Member& b) {
      return plan.processes[a.process].number < plan.processes[b.process].number;
    });
    return;
  }
  std::vector<std::uint32_t> order;
  for (const auto& [from, to] : declared->processes) {
    for (std::uint32_t number = from;; ++number) {
      const auto process = process_of.find(number);
      if (process == process_of.end())
        fail(plan, declared->line, format("there is no process {}; remove it, or add its operations", number));
      if (place[process->second] != kNone) fail(plan, declared->line, format("process {} is a member twice; name it once", number));
      place[process->second] = static_cast<std::uint32_t>(order.size());
      order.push_back(process->second);
      if (number == to) break;
    }
  }
  for (const Member* one = members; one != end; ++one)
    if (place[one->process] == kNone)
      fail(plan, line_of(plan, one->operation),
           format("process {} is no member of collective {}; add it to line {}, or remove this one",
                  plan.processes[one->process].number, collective.number, declared->line));
  std::sort(members, end, [&place](const Member& a, const Member& b) { return place[a.process] < place[b.process]; });
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    if (i >= collective.count || members[i].process != order[i])
      fail(plan, declared->line,
           format("process {} is a member of collective {} and has no operation of it, for which line {} would wait; add it there, "
                  "or remove it here",
                  plan.processes[order[i]].number, collective.number, line_of(plan, members[0].operation)));
    place[order[i]] = kNone;
  }
}

void find_root(Plan& plan, Collective& collective) {
  if (collective.kind != Kind::from_one && collective.kind != Kind::to_one) return;
  const Member* const members = &plan.members[collective.first];
  for (std::uint32_t i = 0; i < collective.count; ++i) {
    if ((plan.operations[members[i].operation].flags & kRoot) == 0) continue;
    if (collective.root != kNone)
      fail(plan, line_of(plan, members[i].operation),
           format("collective {} has another root in line {}; take 'root' away from one of them", collective.number,
                  line_of(plan, members[collective.root].operation)));
    collective.root = i;
  }
  if (collective.root == kNone)
    fail(plan, line_of(plan, members[0].operation),
         format("collective {} has no root; write 'root' behind the operation of one member", collective.number));
}

}  // namespace

void link_messages(Plan& plan) {
  Indices indices(plan, is_message);
  for (std::uint32_t i = 0; i < plan.operations.size(); ++i) {
    Operation& one = plan.operations[i];
    if (!is_message(one.kind)) continue;
    const std::uint32_t index = indices.of(one.object);
    if (index == plan.messages.size()) plan.messages.emplace_back().number = one.object;
    one.object = index;
    Message& message = plan.messages[index];
    std::uint32_t& end = one.kind == Kind::post ? message.post : one.kind == Kind::get ? message.get : message.await;
    if (end != kNone)
      fail(plan, one.line,
           format("'{}' is also in line {}; a message has one sender and one receiver, so give it another number", plan.text_of(i),
                  line_of(plan, end)));
    end = i;
  }
  for (const Message& message : plan.messages) check_message(plan, message);
}

void link_collectives(Plan& plan, const std::vector<Declared>& declared) {
  Indices indices(plan, is_collective);
  for (Operation& one : plan.operations) {
    if (!is_collective(one.kind)) continue;
    const std::uint32_t index = indices.of(one.object);
    if (index == plan.collectives.size()) {
      plan.collectives.emplace_back().number = one.object;
      plan.collectives.back().kind = one.kind;
    }
    one.object = index;
  }
  std::vector<const Declared*> lines(plan.collectives.size());
  for (const Declared& one : declared) {
    const std::uint32_t index = indices.known(one.number);
    if (index == kNone)
      fail(plan, one.line, format("no process has an operation of collective {}; add them, or remove this line", one.number));
    if (lines[index] != nullptr)
      fail(plan, one.line, format("collective {} is also in line {}; remove one of them", one.number, lines[index]->line));
    lines[index] = &one;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> process_of;
  for (std::uint32_t i = 0; i < plan.processes.size(); ++i) process_of[plan.processes[i].number] = i;
  std::vector<std::uint32_t> place(plan.processes.size(), kNone);
  gather(plan);
  for (std::uint32_t i = 0; i < plan.collectives.size(); ++i) {
    Collective& collective = plan.collectives[i];
    Member* const members = &plan.members[collective.first];
    check_members(plan, collective, members);
    order_members(plan, collective, members, lines[i], process_of, place);
    for (std::uint32_t rank = 0; rank < collective.count; ++rank) plan.operations[members[rank].operation].offset = rank;
    find_root(plan, collective);
  }
}

}  // namespace damaris::replay
