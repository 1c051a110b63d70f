#include <catch2/catch.hpp>

#include <string>

#include "plan_of.hpp"
#include "replay/reader.hpp"
#include "support/errors.hpp"
#include "support/temp_folder.hpp"

using namespace damaris;
using namespace damaris::replay;
using test::plan_of;

namespace {

// The complaint about these lines, which follow the first one.
std::string complaint(const std::string& lines) {
  return test::error_of([&] { plan_of(lines); }).sentence();
}

}  // namespace

TEST_CASE("a plan with each operation is read as it is written") {
  const Plan plan = plan_of(
      "# a comment\n"
      "layer mpiio\n"
      "recorded 1000 # ns\n"
      "file 7 4096 in/a b%25%23.h5  # old\n"
      "file 9 0 out\r\n"
      "collective 5 1 0\n"
      "process 0 rank 0 host n1 pid 77\n"
      "c 125\n"
      "o 9 rwcta # 11\n"
      "w 9 4096 100 # 5200\n"
      "r 7 0 4096 # 3rd of the file\n"
      "s 9 # 100\n"
      "m 7 # 90 ns\n"
      "t 9 50\n"
      "x 9 # 70\n"
      "u 9\n"
      "p 17 30 1200 sync\n"
      "b 5 200\n"
      "f 6 201 root\n"
      "process 1\n"
      "k 17\n"
      "g 17 31\n"
      "b 5 202\n"
      "f 6 203\n");
  CHECK(plan.layer == "mpiio");
  CHECK(plan.recorded_ns == 1000);
  REQUIRE(plan.files.size() == 2);
  CHECK(plan.files[0].name == "in/a b%#.h5");
  CHECK(plan.files[1].name == "out");
  CHECK(plan.files[0].initial_bytes == 4096);
  REQUIRE(plan.operations.size() == 16);
  const auto& one = plan.operations;
  CHECK(one[1].flags == (kRead | kWrite | kCreate | kTruncate | kAppend));
  CHECK(one[1].object == 1);
  CHECK((one[2].offset == 4096 && one[2].bytes == 100 && one[2].ns == 5200));
  CHECK(one[3].ns == 0);  // the comment does not begin with a number
  CHECK(one[5].ns == 90);
  CHECK((one[9].bytes == 1200 && one[9].flags == kSync && one[9].ns == 30));
  REQUIRE(plan.messages.size() == 1);
  CHECK((plan.messages[0].post == 9 && plan.messages[0].await == 12 && plan.messages[0].get == 13));
  REQUIRE(plan.collectives.size() == 2);
  CHECK(plan.members[plan.collectives[0].first].process == 1);  // in the order of the `collective` line
  CHECK(plan.collectives[1].root == 0);
  CHECK(plan.processes[0].inherited == std::vector<std::uint32_t>{0});  // file 7 is read without an open
  CHECK(plan.text_of(9) == "p 17");
}

TEST_CASE("members of a collective are given as ranges too") {
  const Plan plan = plan_of("collective 1 2 0-1\nprocess 0\nq 1 5\nprocess 1\nq 1 5\nprocess 2\nq 1 5\n");
  REQUIRE(plan.members.size() == 3);
  CHECK((plan.members[0].process == 2 && plan.members[1].process == 0 && plan.members[2].process == 1));
}

TEST_CASE("each error in a plan names its line, the cause and the remedy") {
  const auto [lines, words] = GENERATE(table<std::string, std::string>({
      {"bogus 1\n", "plan:2: 'bogus' is unknown; known: layer, recorded, file, collective, process"},
      {"layer tape\n", "plan:2: the layer 'tape' is unknown; known: posix, mpiio"},
      {"process 0\nz 1\n", "plan:3: the operation 'z' is unknown; known: c o r w"},
      {"c 5\n", "plan:2: an operation stands before the first 'process' line"},
      {"process 0\nc\n", "plan:3: time in ns is missing"},
      {"process 0\nc -5\n", "plan:3: '-5' is no time in ns, which is a whole number"},
      {"process 0\nc 99999999999999999999\n", "plan:3: '99999999999999999999' is no time in ns"},
      {"process 0\nc 4611686018427387904\nc 1\n", "plan:4: the times of the plan add up to more than 4611686018427387904 ns here"},
      {"file 0 4611686018427387904 a\nfile 1 1 b\n", "plan:3: the bytes of the plan add up to more than"},
      {"collective 3 0-4294967295\nprocess 0\nb 3 1\n", "plan:2: there is no process 1"},
      {"process 0\nc 5 6\n", "plan:3: '6' is one word too many"},
      {"process 0\nprocess 0\n", "plan:3: process 0 is there twice"},
      {"process 0\nlayer posix\n", "plan:3: 'layer' stands behind a process"},
      {"process 0\nw 3 0 1\n", "plan:3: there is no file 3; add a line 'file 3 BYTES NAME'"},
      {"file 0 0 /etc/passwd\n", "plan:2: '/etc/passwd' is absolute"},
      {"file 0 0 a/../../b\n", "plan:2: 'a/../../b' has a part '..'"},
      {"file 0 0 a%2F%2E%2E/b\n", "plan:2: 'a/../b' has a part '..'"},
      {"file 0 0 a//b\n", "plan:2: 'a//b' has a part ''"},
      {"file 0 0 a/\n", "plan:2: 'a/' has a part ''"},
      {"file 0 0 a%00\n", "plan:2: a name of a file has no byte 0"},
      {std::string("file 0 0 a\0b\n", 13), "plan:2: a name of a file has no byte 0"},
      {"file 0 0 a%4\n", "plan:2: '%4' is no escape"},
      {"file 0 0\n", "plan:2: the name of the file is missing"},
      {"file 0 0 a\nfile 1 0 a\n", "plan:3: the file 'a' is there twice"},
      {"file 0 0 a\nfile 0 0 b\n", "plan:3: file 0 is there twice"},
      {"file 0 0 a\nfile 1 0 a/b\n", "plan:3: 'a' is a file in line 2, and a folder of 'a/b'"},
      {"file 0 0 a\nprocess 0\no 0 q\n", "plan:4: 'q' is no way to open a file"},
      {"file 0 0 a\nprocess 0\no 0 c\n", "plan:4: how the file is opened is missing"},
      {"file 0 0 a\nprocess 0\nw 0 9223372036854775807 1\n", "plan:4: offset and bytes reach beyond"},
      {"file 0 0 a\nprocess 0\no 0 r\nw 0 0 1\n",
       "plan:5: process 0 writes file 0 ('a'), which it has opened only for reading in line 4"},
      {"file 0 0 a\nprocess 0\no 0 rw\nx 0\nw 0 0 1\n", "plan:6: process 0 uses file 0 ('a'), which it has closed in line 5"},
      {"file 0 10 a\nprocess 0\nr 0 5 6\n",
       "plan:4: reads up to byte 11 of 'a', of which 10 are ever there; give it that many in line 2"},
      {"process 4\ng 17 1\n", "plan:3: process 4 gets message 17, which nobody posts"},
      {"process 4\np 17 1 sync\n", "plan:3: process 4 waits for the receiver of message 17, which nobody gets"},
      {"process 0\np 17 1\ng 17 1\nprocess 1\nk 17\n",
       "plan:6: process 1 receives message 17 from here on, but has no line 'g 17 COST'"},
      {"process 0\np 17 1\nprocess 1\ng 17 1\nk 17\n", "plan:6: the receive of message 17 is made known behind line 5"},
      {"process 0\np 17 1\np 17 1\n", "plan:4: 'p 17' is also in line 3"},
      {"process 0\np 17 1 20 sink\n", "plan:3: 'sink' is one word too many"},
      {"collective 3 0 0-1\nprocess 0\nb 3 1\nprocess 1\nb 3 1\n", "plan:2: process 0 is a member twice"},
      {"collective 3 0-9\nprocess 0\nb 3 1\n", "plan:2: there is no process 1"},
      {"collective 3 0 1\nprocess 0\nb 3 1\nprocess 1\n",
       "plan:2: process 1 is a member of collective 3 and has no operation of it, for which line 4 would wait"},
      {"collective 3 0\nprocess 0\nb 3 1\nprocess 1\nb 3 1\n", "plan:6: process 1 is no member of collective 3; add it to line 2"},
      {"collective 3 0\nprocess 0\n", "plan:2: no process has an operation of collective 3"},
      {"collective 3 0\ncollective 3 0\nprocess 0\nb 3 1\n", "plan:3: collective 3 is also in line 2"},
      {"collective 3 x\n", "plan:2: 'x' is no process"},
      {"process 0\nb 3 1\nb 3 1\n", "plan:4: process 0 has collective 3 also in line 3"},
      {"process 0\nb 3 1\nprocess 1\na 3 1\n", "plan:5: 'a 3' is of another kind than line 3"},
      {"process 0\nf 3 1\nprocess 1\nf 3 1\n", "plan:3: collective 3 has no root"},
      {"process 0\ne 3 1 root\nprocess 1\ne 3 1 root\n", "plan:5: collective 3 has another root in line 3"},
  }));
  CAPTURE(lines);
  const std::string said = complaint(lines);
  CAPTURE(said);
  CHECK(said.substr(0, words.size()) == words);
}

TEST_CASE("what is no plan, another version and no file are told apart") {
  CHECK(test::error_of([] { read_plan("", "plan"); }).sentence() == "plan:0: the plan is empty; it begins with 'damaris plan 1'");
  CHECK(test::error_of([] {
          read_plan(
              "\x7f"
              "ELF",
              "plan");
        })
            .sentence()
            .substr(0, 27) == "plan:1: this is no plan, wh");
  CHECK(test::error_of([] { read_plan("damaris plan 2\n", "plan"); }).sentence().substr(0, 35) ==
        "plan:1: the plan is of version 2, t");
  const test::TempFolder folder;
  CHECK(test::error_of([&] { read_plan_file(folder.file("none")); }).sentence().find("cannot read the plan") == 0);
  CHECK(read_plan_file(folder.write("one", "damaris plan 1\nprocess 0\nc 5")).operations.size() == 1);  // without a last newline
}

TEST_CASE("the bytes that a plan needs are those that it writes, not the holes") {
  CHECK(plan_of("file 0 100 a\nprocess 0\no 0 wa\nw 0 0 5\nw 0 0 5\n").bytes_needed() == 110);
  CHECK(plan_of("file 0 100 a\nfile 1 0 b\nprocess 0\nw 0 50 100\nw 0 0 10\no 1 rwc\nw 1 1000000 5\nw 1 0 5\n").bytes_needed() ==
        150 + 10);
}
