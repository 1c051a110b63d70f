// Events of scope core, node and global between clients and servers of two nodes.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "job.hpp"

namespace damaris::test {
namespace {

std::string event(const std::string& name, const std::string& scope, const std::string& more = "") {
  return "<event name='" + name + "' action='record' using='damaris_test_recorder.so' scope='" + scope + "' " + more + "/>";
}

std::string all_events() {
  std::string text = event("n", "node") + event("g", "global") + event("h", "global") + event("r", "global", "on='root'");
  for (const char* name : {"c", "n", "g", "h", "r"}) text += event(name, "core");
  return "<actions>" + text + "</actions>";
}

constexpr int kSteps = 21, kSignals = 8;  // times 6 clients: 1008 signals

// What every client signals in `step`, in the order of client `id`.
std::vector<std::string> signals_of(int id, int step) {
  std::mt19937 same(static_cast<unsigned>(step)), own(static_cast<unsigned>(1000 * (id + 1) + step));
  std::vector<std::string> signals;
  for (int n = 0; n < kSignals; ++n) signals.emplace_back(1, "cnghr"[same() % 5]);
  std::shuffle(signals.begin(), signals.end(), own);
  return signals;
}

std::string key(const std::string& line) { return line.substr(0, line.find(" datasets")); }
std::vector<std::string> keys(const std::vector<std::string>& lines, const std::string& without = "nothing") {
  std::vector<std::string> found;
  for (const std::string& line : lines)
    if (line.find(without) == std::string::npos) found.push_back(key(line));
  return found;
}

void check_order_of_client(const Job& job, int server, int id) {
  std::vector<std::string> expected;
  for (int step = 0; step < kSteps; ++step) {
    std::map<std::string, int> instances;
    for (const std::string& name : signals_of(id, step))
      expected.push_back("event " + name + " step " + std::to_string(step) + " scope core source " + std::to_string(id) +
                         " instance " + std::to_string(instances[name]++) + " ");
  }
  const auto lines = job.lines(server, "scope core source " + std::to_string(id) + " ");
  REQUIRE(lines.size() == expected.size());
  CHECK(std::equal(expected.begin(), expected.end(), lines.begin(),
                   [](const std::string& start, const std::string& line) { return line.find(start) == 0; }));
}

// Once for each instance: (event, step, n-th of the step).
void check_once_each(const std::vector<std::string>& lines, const std::string& events) {
  std::map<std::string, int> wanted, found;
  for (int step = 0; step < kSteps; ++step) {
    std::map<std::string, int> instances;
    for (const std::string& name : signals_of(0, step))
      if (events.find(name) != std::string::npos)
        ++wanted["event " + name + " step " + std::to_string(step) + " instance " + std::to_string(instances[name]++)];
  }
  for (const std::string& line : lines) {
    const auto scope = line.find(" scope"), instance = line.find(" instance"), order = line.find(" order");
    ++found[line.substr(0, scope) + line.substr(instance, order - instance)];
  }
  CHECK(found == wanted);
}

TEST_CASE("rule 3: of a thousand random signals from two nodes every server logs the same global order, and none is lost") {
  const auto [nodes, cores, servers] =
      GENERATE(std::tuple<const char*, int, std::vector<std::vector<int>>>{"3,5", 1, {{0, 1}, {2, 3, 4, 5}}},
               std::tuple<const char*, int, std::vector<std::vector<int>>>{"4", 2, {{0}, {1}, {2}, {3}}});
  Job job(8, nodes);
  const Started started = job.start(xml(cores, all_events()));
  REQUIRE(started.code == DC_OK);
  if (started.is_client != 0) {
    const int id = rank_in(started.clients);
    for (int step = 0; step < kSteps; ++step) {
      for (const std::string& name : signals_of(id, step)) CHECK(dc_signal(name.c_str(), step) == DC_OK);
      if (step % 3 == id % 3) CHECK(dc_end_iteration(step) == DC_OK);
    }
    const int code = dc_finalize();
    INFO(dc_last_error());
    CHECK(code == DC_OK);
  }
  job.together();
  if (job.rank() != 0) return;
  const auto order = keys(job.lines(0, "scope global"));
  for (std::size_t n = 0; n < order.size(); ++n) CHECK(order[n].find(" order " + std::to_string(n)) != std::string::npos);
  check_once_each(order, "ghr");
  for (std::size_t server = 0; server < servers.size(); ++server) {
    const int index = static_cast<int>(server);
    if (server > 0) CHECK(keys(job.lines(index, "scope global")) == keys(order, "event r "));
    check_once_each(job.lines(index, "scope node"), "n");
    for (const int id : servers[server]) check_order_of_client(job, index, id);
  }
}

// A run of two nodes with a client and a server each; `first` and `second` are what the clients do.
template <class First, class Second>
void two_clients(const Job& job, const std::string& text, First&& first, Second&& second) {
  if (!job.member()) return;
  const Started started = job.start(text);
  INFO(started.sentence);
  REQUIRE(started.code == DC_OK);
  if (started.is_client == 0) return;
  if (rank_in(started.clients) == 0)
    first(started.clients);
  else
    second(started.clients);
}

void tell_other(MPI_Comm clients) { MPI_Send(nullptr, 0, MPI_BYTE, 1 - rank_in(clients), 0, clients); }
void hear_other(MPI_Comm clients) { MPI_Recv(nullptr, 0, MPI_BYTE, 1 - rank_in(clients), 0, clients, MPI_STATUS_IGNORE); }

void write(int step, int blocks = 1, int n = 16) {
  const std::vector<double> data(static_cast<std::size_t>(n), step);
  for (int block = 0; block < blocks; ++block) {
    const int code = dc_write_block("x", step, block, data.data());
    INFO(dc_last_error());
    CHECK(code == DC_OK);
  }
}

// What a client's ends of steps and its finalize report of dropped instances: which of them is first is a race.
class Reports {
 public:
  void end_iteration(int step) { note(dc_end_iteration(step)); }
  void flush(int step) { note(dc_flush(step, 30'000)); }
  void finalize() { note(dc_finalize()); }
  void check(const std::string& why) const {
    CHECK(all_ == std::vector<std::string>{"event 'g' (instance 0) of step 0 was discarded: " + why});
  }
  bool contain(const std::string& part) const { return all_.size() == 1 && all_[0].find(part) != std::string::npos; }

 private:
  void note(int code) {
    if (code == DC_OK) return;
    CHECK(code == DC_E_EARLIER_IO);
    all_.emplace_back(dc_last_error());
  }
  std::vector<std::string> all_;
};

const std::string kGivenUp = "another server abandoned it, or did not receive it from all its clients";

TEST_CASE("rule 3: a global instance that one node never completes is cancelled on all and reported, and the next one runs") {
  Job job(6, "3");  // two clients on each node
  if (job.member()) {
    const Started started = job.start(xml(1, "<actions>" + event("g", "global") + "</actions>"));
    REQUIRE(started.code == DC_OK);
    if (started.is_client != 0) {
      const int id = rank_in(started.clients);
      if (id != 3) CHECK(dc_signal("g", 0) == DC_OK);
      Reports reports;
      reports.end_iteration(0);
      wait_for_all(started.clients);
      CHECK(dc_signal("g", 1) == DC_OK);
      reports.finalize();
      reports.check(id < 2 ? kGivenUp : "not sent by client 3 before the step ended");
    }
  }
  job.together();
  for (int server = 0; server < 2; ++server) {
    REQUIRE(job.lines(server, "scope global").size() == 1);
    CHECK(job.lines(server, "step 1 scope global source -1 instance 0 order 0").size() == 1);
  }
}

TEST_CASE("actions of a user call MPI over the servers, and print") {
  Job job(4, "2");
  if (job.member()) {
    std::ostringstream printed;
    std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
    const Started started =
        job.start(xml(1,
                      "<actions><event name='sum' action='sum_servers' using='damaris_test_allreduce.so' scope='global'/>"
                      "<event name='print' action='print_step' using='damaris_test_printing.so'/></actions>"));
    std::cout.rdbuf(before);
    REQUIRE(started.code == DC_OK);
    if (started.is_client != 0) {
      CHECK(dc_signal("sum", 0) == DC_OK);
      CHECK(dc_signal("print", 0) == DC_OK);
      CHECK(dc_end_iteration(0) == DC_OK);
      CHECK(dc_finalize() == DC_OK);
    } else {
      CHECK_THAT(printed.str(), Catch::StartsWith("server ") && Catch::EndsWith(" sees step 0\n"));
    }
  }
  job.together();
  for (int server = 0; server < 2; ++server) CHECK(job.lines(server) == std::vector<std::string>{"step 0 sum 3"});
}

TEST_CASE("rule 4: a pending global instance keeps no server from draining and storing later steps") {
  Job job(4, "2");
  const std::string text =
      xml(1, kRecorder + "<actions>" + event("g", "global") + "</actions>", "<buffer size='1MiB'/><global timeout='1h'/>");
  two_clients(
      job, text,
      [](MPI_Comm clients) {
        CHECK(dc_signal("g", 0) == DC_OK);
        for (int step = 0; step <= 5; ++step) {
          write(step);
          CHECK(dc_end_iteration(step) == DC_OK);
        }
        CHECK(dc_flush(5, 30'000) == DC_OK);
        tell_other(clients);
        Reports reports;
        reports.finalize();
        reports.check(kGivenUp);
      },
      [](MPI_Comm clients) {
        hear_other(clients);
        CHECK(dc_end_iteration(0) == DC_OK);
        CHECK(dc_finalize() == DC_OK);
      });
  job.together();
  CHECK(job.lines(0, "step 5 complete 1").size() == 1);
  CHECK(job.lines(0, "scope global").empty());
}

TEST_CASE("rule 4: a pending global instance holds its blocks no longer than the global time-out") {
  Job job(4, "2");
  // Three blocks fit into the buffer: one that is held, and two of the steps that follow.
  const std::string text = xml(1, kRecorder + "<actions>" + event("g", "global") + "</actions>",
                               "<buffer size='1MiB' timeout='30s'/><global timeout='5s'/>");
  two_clients(
      job, text,
      [](MPI_Comm clients) {
        CHECK(dc_set_parameter("n", 40'000) == DC_OK);
        write(0, 1, 40'000);
        CHECK(dc_signal("g", 0) == DC_OK);
        Reports reports;
        for (int step = 0; step <= 7; ++step) {
          if (step > 0) write(step, step == 7 ? 3 : 1, 40'000);
          reports.end_iteration(step);
        }
        reports.flush(7);
        reports.check("no agreement of the servers within 5000 ms");
        tell_other(clients);
        hear_other(clients);
        CHECK(dc_signal("g", 8) == DC_OK);
        CHECK(dc_finalize() == DC_OK);
      },
      [](MPI_Comm clients) {
        hear_other(clients);
        Reports reports;
        CHECK(dc_signal("g", 0) == DC_OK);
        reports.end_iteration(0);
        tell_other(clients);
        CHECK(dc_signal("g", 8) == DC_OK);
        reports.finalize();
        reports.check(kGivenUp);
      });
  job.together();
  for (int server = 0; server < 2; ++server) {
    REQUIRE(job.lines(server, "scope global").size() == 1);
    CHECK(job.lines(server, "step 8 scope global").size() == 1);
  }
}

void wait_for_line(const std::string& path, const std::string& part) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < end) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.find(part) != std::string::npos) return;
    ::usleep(5'000);
  }
  FAIL("no line with '" + part + "' in " + path);
}

TEST_CASE("rule 4: what one server gave up in an open step runs on none, also if the others send it later") {
  Job job(4, "2");
  const std::string text =
      xml(1, kRecorder + "<actions>" + event("g", "global") + "</actions><log file='" + job.file("warnings") + "'/>",
          "<buffer size='1MiB'/><global timeout='5s'/>");
  two_clients(
      job, text,
      [&](MPI_Comm clients) {
        CHECK(dc_signal("g", 0) == DC_OK);
        wait_for_line(job.file("warnings"), "no agreement of the servers within 5000 ms");
        tell_other(clients);
        hear_other(clients);
        CHECK(dc_signal("g", 1) == DC_OK);
        Reports reports;
        reports.finalize();
        reports.check("no agreement of the servers within 5000 ms");
      },
      [](MPI_Comm clients) {
        hear_other(clients);
        CHECK(dc_signal("g", 0) == DC_OK);
        tell_other(clients);
        CHECK(dc_signal("g", 1) == DC_OK);
        Reports reports;
        reports.finalize();
        CHECK(reports.contain("event 'g' (instance 0) of step 0 was discarded: "));
      });
  job.together();
  for (int server = 0; server < 2; ++server) {
    REQUIRE(job.lines(server, "scope global").size() == 1);
    CHECK(job.lines(server, "step 1 scope global").size() == 1);
  }
}

}  // namespace
}  // namespace damaris::test
