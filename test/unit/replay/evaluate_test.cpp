#include <catch2/catch.hpp>

#include <string>

#include "plan_of.hpp"
#include "replay/evaluate.hpp"
#include "replay/reader.hpp"
#include "replay/replay.h"
#include "support/errors.hpp"

using namespace damaris;
using namespace damaris::replay;
using test::plan_of;

namespace {

using Numbers = std::vector<std::uint64_t>;

Times times_of(const std::string& lines) { return evaluate(plan_of(lines)); }
std::string dead_end(const std::string& lines) {
  return test::error_of([&] { times_of(lines); }).sentence();
}

}  // namespace

TEST_CASE("computing and I/O take their time, and processes do not wait for each other by themselves") {
  const Times times = times_of("file 0 10 a\nprocess 0\nc 100\nr 0 0 4 # 20\nr 0 0 4\nprocess 7\nc 30\n");
  CHECK(times.ends == Numbers{120, 30});
  CHECK(times.total == 120);
  CHECK(times.waits == Numbers{0, 0, 0, 0});
}

TEST_CASE("a receiver waits for the post, and each end has its own cost") {
  const Times times = times_of("process 0\nc 100\np 1 5 64\nc 1\nprocess 1\ng 1 7\n");
  CHECK(times.ends == Numbers{106, 112});
  CHECK(times.waits == Numbers{0, 0, 0, 105});
  CHECK(times_of("process 0\np 1 5\nprocess 1\nc 100\ng 1 7\n").ends == Numbers{5, 107});
}

TEST_CASE("a post with sync waits for its receiver: where it gets, or where it has made its receive known") {
  CHECK(times_of("process 0\np 1 5 sync\nprocess 1\nc 100\ng 1 7\n").ends == Numbers{105, 112});
  CHECK(times_of("process 0\np 1 5 sync\nprocess 1\nc 40\nk 1\nc 60\ng 1 7\n").ends == Numbers{45, 107});
  CHECK(times_of("process 0\nc 200\np 1 5 sync\nprocess 1\ng 1 7\n").ends == Numbers{205, 212});
  CHECK(times_of("process 0\np 1 5 9 sync\nprocess 1\nc 100\ng 1 7\n").waits == Numbers{100, 0, 5});
}

TEST_CASE("a post that nobody gets delays nobody") { CHECK(times_of("process 0\np 1 5\n").total == 5); }

TEST_CASE("a barrier and an exchange among all begin with the latest") {
  for (const std::string kind : {"b", "a"}) {
    const Times times =
        times_of("process 0\nc 10\n" + kind + " 3 1\nprocess 1\nc 50\n" + kind + " 3 2\nprocess 2\n" + kind + " 3 3\n");
    CHECK(times.ends == Numbers{51, 52, 53});
    CHECK(times.waits == Numbers{0, 40, 0, 0, 50});
  }
}

TEST_CASE("from one to all, the others wait for the root alone") {
  CHECK(times_of("process 0\nc 10\nf 3 1 root\nprocess 1\nc 50\nf 3 2\nprocess 2\nf 3 3\n").ends == Numbers{11, 52, 13});
}

TEST_CASE("from all to one, the root alone waits") {
  CHECK(times_of("process 0\nc 10\ne 3 1 root\nprocess 1\nc 50\ne 3 2\nprocess 2\ne 3 3\n").ends == Numbers{51, 52, 3});
}

TEST_CASE("in a scan each waits for those before it among the members") {
  CHECK(times_of("process 0\nc 10\nq 3 1\nprocess 1\nc 50\nq 3 2\nprocess 2\nq 3 3\n").ends == Numbers{11, 52, 53});
  CHECK(times_of("collective 3 2 0 1\nprocess 0\nc 10\nq 3 1\nprocess 1\nc 50\nq 3 2\nprocess 2\nq 3 3\n").ends ==
        Numbers{11, 52, 3});
}

TEST_CASE("a dependency hands a delay on through a third process") {
  const std::string chain =
      "file 0 1 a\nprocess 0\nr 0 0 1 # 1000\np 1 0\nprocess 1\ng 1 0\np 2 0\nprocess 2\ng 2 0\nr 0 0 1 # 5\n";
  CHECK(times_of(chain).ends == Numbers{1000, 1000, 1005});
  const std::string without = "file 0 1 a\nprocess 0\nr 0 0 1 # 1000\np 1 0\nprocess 1\np 2 0\nprocess 2\ng 2 0\nr 0 0 1 # 5\n";
  CHECK(times_of(without).ends == Numbers{1000, 0, 5});
}

TEST_CASE("other times of I/O may take the place of the recorded ones") {
  const Plan plan = plan_of("file 0 1 a\nprocess 0\nr 0 0 1 # 1000\nb 1 1\nprocess 1\nb 1 1\n");
  const Numbers io = {30, 77, 77};
  CHECK(evaluate(plan, &io).ends == Numbers{31, 31});
}

TEST_CASE("operations that wait for each other are named with their lines") {
  CHECK(dead_end("process 0\ng 1 0\np 2 0\nprocess 5\ng 2 0\np 1 0\n") ==
        "plan:3: operations wait for each other and can never be met: line 3, 'g 1' of process 0, waits for line 7, 'p 1' of "
        "process 5; "
        "line 6, 'g 2' of process 5, waits for line 4, 'p 2' of process 0; change the order of one of them");
  CHECK(dead_end("process 0\ng 1 0\np 1 0\n") ==
        "plan:3: operations wait for each other and can never be met: line 3, 'g 1' of process 0, waits for line 4, 'p 1' of "
        "process 0; "
        "change the order of one of them");
  CHECK(dead_end("process 0\nb 1 0\nb 2 0\nprocess 1\nb 2 0\nb 1 0\n")
            .find("line 3, 'b 1' of process 0, waits for line 7, 'b 1' of process 1") != std::string::npos);
  CHECK(dead_end("process 0\np 1 0 sync\ng 2 0\nprocess 1\np 2 0 sync\ng 1 0\n")
            .find("line 3, 'p 1' of process 0, waits for line 7, 'g 1'") != std::string::npos);
  // The process that only waits for those two is not to blame.
  CHECK(dead_end("process 9\nb 3 0\nprocess 0\ng 1 0\np 2 0\nb 3 0\nprocess 5\ng 2 0\np 1 0\n").find("process 9") ==
        std::string::npos);
  CHECK(dead_end("process 0\nq 1 0\ng 2 0\nprocess 1\nq 1 0\np 2 0\nprocess 2\nf 3 0\nprocess 3\ng 4 0\nf 3 0 root\np 4 0\n")
            .find("'g 4'") != std::string::npos);
}

TEST_CASE("the share of time in which more processes compute than there are cores") {
  const Plan plan = plan_of("process 0\nc 1000000\nprocess 1\nc 500000\nprocess 2\nc 250000\n");
  const Times times = evaluate(plan);
  CHECK(crowded_share(plan, times, 1) == Approx(0.5).margin(0.001));
  CHECK(crowded_share(plan, times, 2) == Approx(0.25).margin(0.001));
  CHECK(crowded_share(plan, times, 3) == 0);
}

TEST_CASE("the C functions give what the C++ ones do, and refuse with a sentence that fits") {
  const std::string text = "damaris plan 1\nrecorded 9\nprocess 4\nc 5\nb 1 1\nprocess 6\nb 1 1\n";
  char error[200] = "";
  dr_plan* const plan = dr_read(text.data(), text.size(), error, sizeof error);
  REQUIRE(plan != nullptr);
  std::size_t processes = 0, operations = 0;
  CHECK(dr_total(plan) == 6);
  CHECK(dr_recorded(plan) == 9);
  CHECK((dr_ends(plan, &processes)[1] == 6 && processes == 2));
  CHECK(dr_numbers(plan, &processes)[1] == 6);
  CHECK((dr_waits(plan, &operations)[2] == 5 && operations == 3));
  CHECK(dr_lines(plan, &operations)[2] == 7);
  dr_close(plan);
  CHECK(dr_read("damaris plan 1\nx", 16, error, sizeof error) == nullptr);
  CHECK(std::string(error) == "plan:2: an operation stands before the first 'process' line, which says whose it is");
  CHECK(dr_read("damaris plan 1\nx", 16, error, 8) == nullptr);
  CHECK(std::string(error) == "plan:2:");
  CHECK(dr_open("/nowhere/plan", error, sizeof error) == nullptr);
}
