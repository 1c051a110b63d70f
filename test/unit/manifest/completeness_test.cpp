// Whether a step is whole: by what the servers of a run were to deliver, and by what the lines of its manifest say.
#include <catch2/catch.hpp>

#include <fstream>

#include "core/base/json.hpp"
#include "manifest/reader.hpp"
#include "support/temp_folder.hpp"

using damaris::Json;
using damaris::test::TempFolder;

namespace damaris::manifest {
namespace {

class Record {
 public:
  void add(const Json& line) const { std::ofstream(folder_.file("run.jsonl"), std::ios::app) << line.dump() << "\n"; }
  void run(int servers) const { add(to_json(RunEntry{"a", "storm", servers, "local", false, ""})); }
  void run_apart(const std::string& host, int server = 0) const {
    RunEntry run = {"a", "storm", 1, "local", false, ""};
    run.apart = true;
    run.host = host;
    run.first_server = server;
    add(to_json(run));
  }
  // Each with a file of its own, so that a run replaces what was before.
  void told(std::int64_t step, std::vector<int> servers, const std::string& host = "",
            std::vector<std::int32_t> missing = {}) const {
    StepEntry record;
    record.step = step;
    for (const int server : servers) record.reporters.emplace_back(host, server);
    record.servers = std::move(servers);
    record.missing = std::move(missing);
    record.complete = record.missing.empty();
    FileEntry file;
    file.name = "run." + host + ".s" + std::to_string(record.servers.front()) + ".i" + std::to_string(step) + ".h5";
    record.files.push_back(file);
    add(to_json(record));
  }
  void joined(const std::string& host, int server = 0) const {
    add(to_json(ServerEntry{ServerEntry::What::joined, server, host, {}}));
  }
  void ended(int server, const Losses& losses = {}, const std::string& host = "") const {
    add(to_json(ServerEntry{ServerEntry::What::ended, server, host, losses}));
  }
  std::vector<std::string> why(std::int64_t step) const {
    Reader reader(folder_.file("run.jsonl"));
    reader.read_on();
    CHECK(reader.damaged().empty());
    CHECK(reader.steps().at(step).complete == reader.why_partial(step).empty());
    return reader.why_partial(step);
  }
  bool whole(std::int64_t step) const { return why(step).empty(); }

 private:
  TempFolder folder_;
};

using Reasons = std::vector<std::string>;

}  // namespace

TEST_CASE("a step that only some servers of a run have reported is not whole, whatever their lines say") {
  const Record record;
  record.run(2);
  record.told(1, {0, 1});
  record.told(2, {0});
  CHECK(record.whole(1));
  CHECK(record.why(2) == Reasons{"servers that did not report it: 1"});
}

TEST_CASE("a line that is marked as incomplete counts once all servers have reported the step, and not before") {
  const Record record;
  record.run(2);
  StepEntry line;
  line.step = 1;
  line.servers = {0};
  line.complete = false;
  record.add(to_json(line));
  CHECK(record.why(1) == Reasons{"servers that did not report it: 1"});
  record.told(1, {1});  // what a recovery has added
  CHECK(record.whole(1));
  line.step = 2;
  line.servers = {0, 1};
  record.add(to_json(line));
  CHECK(record.why(2) == Reasons{"its line marks it as incomplete"});
}

TEST_CASE(
    "a server that reports a later step with none of its clients missing had no data of an earlier step that it does not name") {
  const Record record;
  record.run(2);
  record.told(1, {0});
  record.told(2, {0});
  SECTION("all there") {
    record.told(2, {1});
    CHECK(record.whole(1));
  }
  SECTION("one is missing, since an unknown step") {
    record.told(2, {1}, "", {4});
    CHECK(record.why(1) == Reasons{"servers that did not report it: 1"});
    CHECK(record.why(2) == Reasons{"clients that never ended it: 4"});
  }
  SECTION("and it had reported the step before") {
    record.told(0, {1});
    CHECK_FALSE(record.whole(1));
  }
}

TEST_CASE("a server that has ended and comes back has to deliver again, but no step of the time between") {
  const Record record;
  record.run(2);
  record.told(3, {0, 1});
  record.ended(1);
  record.told(4, {0});
  record.add(to_json(ServerEntry{ServerEntry::What::joined, 1, "", {}}));
  record.told(5, {0});
  for (const int step : {3, 4}) CHECK(record.whole(step));
  CHECK(record.why(5) == Reasons{"servers that did not report it: 1"});
}

TEST_CASE("a server that comes back without having ended may have lost the steps between those that it reported before and after") {
  const Record record;
  record.run_apart("node1");
  record.joined("node2");
  for (const int step : {0, 1, 2, 3, 4, 5, 6}) record.told(step, {0}, "node1");
  for (const int step : {0, 2}) record.told(step, {0}, "node2");
  record.joined("node2");
  const Reasons lost = {"servers that did not report it: node2/0"};
  SECTION("it has reported nothing yet") {
    for (const int step : {0, 1, 2}) CHECK(record.whole(step));
    for (const int step : {3, 6}) CHECK(record.why(step) == lost);
  }
  SECTION("it goes on behind a gap") {
    record.told(5, {0}, "node2");
    for (const int step : {0, 1, 2, 5}) CHECK(record.whole(step));
    for (const int step : {3, 4, 6}) CHECK(record.why(step) == lost);
    record.ended(0, {}, "node2");
    for (const int step : {3, 4}) CHECK(record.why(step) == lost);
    CHECK(record.whole(6));
  }
  SECTION("it stores once more what it had stored, and goes on: from there on nothing is lost") {
    record.told(2, {0}, "node2");
    record.told(4, {0}, "node2");
    for (const int step : {0, 1, 2, 3, 4}) CHECK(record.whole(step));
  }
  SECTION("it ends without having reported anything: the end of the gap is unknown") {
    record.ended(0, {}, "node2");
    CHECK(record.whole(2));
    for (const int step : {3, 6}) CHECK(record.why(step) == lost);
  }
  SECTION("it comes back twice, with a gap each time") {
    record.told(4, {0}, "node2");
    record.joined("node2");
    record.told(6, {0}, "node2");
    for (const int step : {2, 4, 6}) CHECK(record.whole(step));
    for (const int step : {3, 5}) CHECK(record.why(step) == lost);
  }
}

TEST_CASE("a server that had lost clients, ended and comes back has not delivered their steps from before its return") {
  const Record record;
  record.run_apart("node1");
  record.joined("node2");
  for (const int step : {1, 2, 3, 4, 5}) record.told(step, {0}, "node1");
  record.told(1, {0}, "node2");
  Losses losses = {{{7, 2}}, 0};
  if (GENERATE(false, true)) losses = {{}, 1};  // one had never come
  const bool died = losses.never_attached == 0;
  record.ended(0, losses, "node2");
  record.joined("node2");
  record.told(5, {0}, "node2");
  CHECK(record.whole(2) == died);
  for (const int step : {1, 5}) CHECK(record.whole(step));
  for (const int step : {3, 4}) CHECK(record.why(step) == Reasons{"servers that did not report it: node2/0"});
}

TEST_CASE("the server that began the run also counts as one that comes back when it joins the run later") {
  const Record record;
  record.run_apart("node1");
  record.joined("node2");
  for (const int step : {0, 1, 2}) record.told(step, {0}, "node2");
  record.told(0, {0}, "node1");
  record.joined("node1");
  record.told(2, {0}, "node1");
  CHECK(record.why(1) == Reasons{"servers that did not report it: node1/0"});
  for (const int step : {0, 2}) CHECK(record.whole(step));
}

TEST_CASE("a server that has ended had no data of steps that it does not name, except for the clients that it had lost") {
  const Record record;
  record.run(2);
  for (const int step : {3, 4, 5}) record.told(step, {0});
  record.told(3, {1});
  SECTION("none was lost") {
    record.ended(1);
    for (const int step : {3, 4, 5}) CHECK(record.whole(step));
  }
  SECTION("one died after step 4") {
    record.ended(1, {{{7, 4}}, 0});
    CHECK(record.whole(4));
    CHECK(record.why(5) == Reasons{"clients that never ended it: 7"});
  }
  SECTION("one never came") {
    record.ended(1, {{}, 1});
    CHECK(record.whole(3));
    CHECK(record.why(4) == Reasons{"clients that never attached: 1"});
  }
}

TEST_CASE("independent servers are those that have joined, each with its host") {
  const Record record;
  record.run_apart("node1");
  record.joined("node2");
  record.told(1, {0}, "node1");
  record.told(2, {0}, "node1");
  record.told(1, {0}, "node2");
  CHECK(record.whole(1));
  CHECK(record.why(2) == Reasons{"servers that did not report it: node2/0"});
  record.ended(0, {}, "node2");
  CHECK(record.whole(2));
}

TEST_CASE("a run that continues with another number of servers is judged by its own number, the earlier one by its own") {
  const Record record;
  record.run(2);
  record.told(1, {0, 1});
  record.told(2, {0});
  record.ended(0);
  record.run(1);
  record.told(3, {0});
  CHECK(record.whole(1));
  CHECK_FALSE(record.whole(2));
  CHECK(record.whole(3));
}

TEST_CASE("a recovered line beside the original one is one step, whole when both are") {
  const Record record;
  record.run(2);
  record.told(1, {0, 1});
  record.told(1, {1});
  CHECK(record.whole(1));
  record.told(1, {1}, "", {3});
  CHECK_FALSE(record.whole(1));
}

TEST_CASE("a server's line that cannot be read is reported as damage") {
  const TempFolder folder;
  std::ofstream(folder.file("run.jsonl")) << R"({"ended":"x","host":""})"
                                          << "\n"
                                          << R"({"joined":1})"
                                          << "\n";
  Reader reader(folder.file("run.jsonl"));
  reader.read_on();
  CHECK(reader.damaged().size() == 2);
}

TEST_CASE("servers that no line names cost nothing, and the first of them are named") {
  const Record record;
  record.run(1'000'000);
  constexpr int kSteps = 2000;
  for (int step = 0; step < kSteps; ++step) record.told(step, {1, 3});
  record.told(kSteps, {5});
  const std::string last = record.why(kSteps).at(0);
  CHECK(last ==
        "servers that did not report it: 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and 999979 others");
  CHECK(
      record.why(7).at(0) ==
      "servers that did not report it: 0, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22 and 999977 others");
}

TEST_CASE("of very many flaws of a step the first hundred of each kind are reported, and the rest are counted") {
  const Record record;
  record.run(1);
  StepEntry line;
  line.servers = {0};
  line.skipped.assign(5000, "fields/v");
  line.failures.assign(101, "the disk is full");
  record.add(to_json(line));
  const Reasons reasons = record.why(0);
  REQUIRE(reasons.size() == 202);
  CHECK(reasons[100] == "and 1 more failures");
  CHECK(reasons[101] == "'fields/v' was skipped for lack of room");
  CHECK(reasons[201] == "and 4900 more variables were skipped for lack of room");
}

}  // namespace damaris::manifest
