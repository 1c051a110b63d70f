#include "replay/outputs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "core/base/format.hpp"
#include "plan_of.hpp"
#include "replay/evaluate.hpp"
#include "support/errors.hpp"

using namespace damaris;
using namespace damaris::replay;
using test::plan_of;

namespace {

// The lines of a process, without those of other files than outputs.
std::string text_of(const Outputs& outputs, std::size_t process) {
  std::string text;
  for (std::uint32_t i = outputs.plan.processes[process].begin; i < outputs.plan.processes[process].end; ++i) {
    const Operation& one = outputs.plan.operations[i];
    if (!is_io(one.kind))
      text += format("{} ", kLetters[static_cast<std::size_t>(one.kind)]);
    else if (one.object < outputs.first_file)
      text += format("{}{} ", kLetters[static_cast<std::size_t>(one.kind)], outputs.plan.files[one.object].name);
    else if (one.kind == Kind::write)
      text += format("w{}@{}+{} ", one.object - outputs.first_file, one.offset, one.bytes);
    else
      text += format("{}{} ", kLetters[static_cast<std::size_t>(one.kind)], one.object - outputs.first_file);
  }
  return text;
}

std::uint64_t written(const Outputs& outputs, std::size_t process) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = outputs.plan.processes[process].begin; i < outputs.plan.processes[process].end; ++i)
    if (outputs.plan.operations[i].kind == Kind::write) sum += outputs.plan.operations[i].bytes;
  return sum;
}

// With each collective call on an output as an operation in which all its writers wait for each other.
Plan with_meetings(const Outputs& outputs) {
  Plan plan = outputs.plan;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<Member>> calls;
  for (std::uint32_t process = 0; process < plan.processes.size(); ++process)
    for (std::uint32_t i = plan.processes[process].begin; i < plan.processes[process].end; ++i)
      if (const Operation& one = plan.operations[i]; one.kind == Kind::write && one.object >= outputs.first_file)
        calls[{one.object, one.flags}].push_back({i, process});
  for (const auto& [call, members] : calls) {
    REQUIRE(members.size() == outputs.writers[call.first - outputs.first_file].size());
    Collective all;
    all.first = static_cast<std::uint32_t>(plan.members.size());
    all.count = static_cast<std::uint32_t>(members.size());
    all.kind = Kind::all;
    for (std::size_t i = 0; i < members.size(); ++i) {
      Operation& one = plan.operations[members[i].operation];
      one.kind = Kind::all;
      one.object = static_cast<std::uint32_t>(plan.collectives.size());
      one.offset = i;
    }
    plan.collectives.push_back(all);
    plan.members.insert(plan.members.end(), members.begin(), members.end());
  }
  return plan;
}

// Processes that write, post, get and meet at random, without a dead end.
std::string random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::vector<std::string> lines(1 + below(5));
  std::string head = "file 0 0 data\n";
  std::vector<std::string> later(lines.size());
  for (std::uint64_t number = 0; number < 5 + below(40); ++number) {
    const std::size_t process = below(lines.size());
    switch (below(5)) {
      case 0:
      case 1:
        lines[process] += format("w 0 {} {}\n", number << 20, 20'000 + below(400'000));
        break;
      case 2:
        lines[process] += format("c {}\n", below(1000));
        break;
      case 3: {
        const std::size_t to = below(lines.size());
        lines[process] += format("p {} 1\n", number);
        (below(2) == 0 ? lines : later)[to] += format("g {} 1\n", number);
        break;
      }
      default:
        head += format("collective {} 0-{}\n", number, lines.size() - 1);
        for (std::string& one : lines) one += format("b {} 1\n", number);
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) head += format("process {}\n{}{}", i, lines[i], later[i]);
  return head;
}

const std::string kTwo =
    "file 0 0 a\nfile 1 0 b\nfile 2 0 log\n"
    "process 0 host n1\no 2 wc\no 0 wct\nw 0 0 500\nw 0 500 70000\nc 10\nw 0 70500 100000\nw 2 0 20\ns 0\nx 0\nb 1 5\nw 2 20 20\n"
    "process 1 host n2\nc 7\no 1 wct\nw 1 0 80000\nx 1\nb 1 5\no 1 w\nw 1 0 200000\nx 1\n";

}  // namespace

TEST_CASE("a file for each process has its bytes of each output, one behind the other, and is synced where the plan's are") {
  const Outputs made = rewrite(plan_of(kTwo), Way::file_per_process, 1);
  CHECK(text_of(made, 0) == "olog o0 w0@0+70500 c w0@70500+100000 s0 x0 wlog b wlog ");
  CHECK(text_of(made, 1) == "c o1 w1@0+80000 x1 b o2 w2@0+200000 x2 ");
  CHECK(made.plan.files[made.first_file].name == "outputs/0.0");
  CHECK(made.writers == std::vector<std::vector<std::uint32_t>>{{0, 1}, {1}});
  CHECK(made.bytes == 450'500);
}

TEST_CASE("collective calls are as many in each writer of an output, in one file without overlap") {
  const Outputs made = rewrite(plan_of(kTwo), Way::collective, 1);
  CHECK(text_of(made, 0) == "olog o0 w0@0+70500 c w0@150500+100000 s0 x0 wlog b wlog ");
  CHECK(text_of(made, 1) == "c o0 w0@70500+80000 w0@250500+0 s0 x0 b o1 w1@0+200000 x1 ");
}

TEST_CASE("an output is synced if data in it are of a file that is synced") {
  const Plan plan = plan_of(
      "file 0 0 field\nfile 1 0 checkpoint\nprocess 0\nw 0 0 50000\nb 1 0\nw 0 50000 50000\nb 2 0\nw 1 0 50000\nb 3 0\ns 1\nb 4 "
      "0\nw 0 0 "
      "50000\n");
  CHECK(text_of(rewrite(plan, Way::file_per_process, 1), 0) ==
        "o0 w0@0+50000 x0 b o1 w1@0+50000 x1 b o2 w2@0+50000 s2 x2 b b o3 w3@0+50000 x3 ");
}

TEST_CASE("with servers each process ends each output, also one to which it writes nothing, and computes longer") {
  const Outputs made = rewrite(plan_of(kTwo), Way::dedicated, 1.5);
  CHECK(text_of(made, 0) == "olog o0 w0@0+70500 c w0@150500+100000 x0 wlog b wlog x1 ");
  CHECK(text_of(made, 1) == "c o0 w0@70500+80000 x0 b o1 w1@0+200000 x1 ");
  CHECK(made.variables == 2);
  CHECK(evaluate(made.plan).ends == std::vector<std::uint64_t>{20, 20});
}

TEST_CASE("a plan without large blocks is refused with the remedy") {
  CHECK_THROWS_WITH(
      rewrite(plan_of("file 0 0 log\nprocess 0\nw 0 0 100\nb 1 0\nw 0 100 100\n"), Way::collective, 1),
      "plan: no process writes a file in blocks of 16 KiB or more, so another way of writing changes nothing; replay the "
      "plan as it is");
}

TEST_CASE("the folder of outputs is none of the plan's") {
  const Outputs made =
      rewrite(plan_of("file 0 0 outputs/log\nfile 1 0 a\nprocess 0\nw 0 0 10\nb 1 0\nw 1 0 100000\n"), Way::file_per_process, 1);
  CHECK(made.plan.files.back().name == "outputs_/0.0");
}

TEST_CASE("a block of more than 32 MiB is handed over in parts") {
  const Outputs made = rewrite(plan_of("file 0 0 a\nprocess 0\nw 0 0 100000000\n"), Way::file_per_process, 1);
  CHECK(text_of(made, 0) == "o0 w0@0+33554432 w0@33554432+33554432 w0@67108864+32891136 x0 ");
}

// DAMARIS_TEST_PROGRAMS: how many.
TEST_CASE("random programs write the same bytes in each way, and their collective calls can never wait for themselves") {
  const char* const wish = std::getenv("DAMARIS_TEST_PROGRAMS");
  const int programs = wish == nullptr ? 500 : std::atoi(wish);
  int shared = 0;
  for (int seed = 0; seed < programs; ++seed) {
    const std::string text = random_program(static_cast<std::uint64_t>(seed));
    if (text.find("\nw ") == std::string::npos) continue;
    CAPTURE(seed, text);
    const Plan plan = plan_of(text);
    const Outputs alone = rewrite(plan, Way::file_per_process, 1), served = rewrite(plan, Way::dedicated, 1),
                  together = rewrite(plan, Way::collective, 1);
    CHECK(evaluate(alone.plan).total == evaluate(plan).total);
    CHECK_NOTHROW(evaluate(with_meetings(together)));
    for (std::size_t i = 0; i < plan.processes.size(); ++i) {
      CHECK(written(alone, i) == written(served, i));
      CHECK(written(alone, i) == written(together, i));
    }
    shared += std::any_of(together.writers.begin(), together.writers.end(), [](const auto& one) { return one.size() > 1; }) ? 1 : 0;
  }
  CHECK(shared > programs / 3);
}
