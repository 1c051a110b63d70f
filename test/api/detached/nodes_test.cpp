// Detached servers of several nodes, which share a manifest and nothing else, not even /dev/shm: what one of them left when it was
// killed goes into the run.
#include <initializer_list>

#include "recover.hpp"

namespace damaris::test {
namespace {

// As long as it lives there is a node of that name, with a /dev/shm of its own, on this machine.
class Node {
 public:
  explicit Node(const std::string& name)
      : keeper_({"unshare", "--uts", "--mount", "--propagation", "private", "sh", "-c",
                 "hostname \"$0\" && mount -t tmpfs -o mode=1777,size=256m tmpfs /dev/shm && echo ready && exec cat", name},
                true),
        is_there_(keeper_.line() == "ready") {}

  bool is_there() const { return is_there_; }
  std::vector<std::string> command(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"nsenter",
                                    "--target",
                                    std::to_string(keeper_.pid()),
                                    "--uts",
                                    "--mount",
                                    "sh",
                                    "-c",
                                    "cd \"$0\" && exec \"$@\"",
                                    std::filesystem::current_path().string()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  Output run(const std::vector<std::string>& words) const {
    Process process(command(words), true);
    const std::string text = all_lines(process);
    return {process.wait(), text};
  }

 private:
  Process keeper_;
  bool is_there_;
};

// A server with one client on a node.
class Pair {
 public:
  Pair(const Node& node, const Run& run, int id)
      : server(node.command({"damaris-server", run.config()}), true),
        client(node.command({std::getenv("DAMARIS_TEST_CLIENT"), run.config()})) {
    client.must("init " + std::to_string(id));
  }
  void store(int step) {
    const std::string number = std::to_string(step);
    for (const std::string& command : {"write " + number, "end " + number, "flush " + number + " 60000"}) client.must(command);
  }
  // With that step in hand; then its client ends, too.
  void kill_server_with(int step) {
    stop(server.pid());
    for (const char* command : {"write ", "end "}) client.must(command + std::to_string(step));
    server.kill(SIGKILL);
    server.wait();
    client.process().kill(SIGKILL);
    client.process().wait();
  }
  void end() {
    client.must("finalize");
    CHECK(server.wait() == 0);
  }

  Process server;
  TestClient client;
};

// What they store into, and the two nodes.
struct Nodes {
  explicit Nodes(const std::string& stale)
      : run("<clients count='1'/><server start='manual'/><buffer stale='" + stale + "'/>",
            "<storage><hdf5 basename='out/x' exists='append'/></storage>"),
        folder(run.folder().path()) {
    std::filesystem::create_directory("out");
  }
  bool are_there() const {
    if (first.is_there() && second.is_there()) return true;
    WARN("SKIP: a node of its own needs root, unshare and mounts");
    return false;
  }

  Run run;
  InFolder folder;
  Node first{"node1"}, second{"node2"};
};

// `ended`: no server was killed for good.
void check_whole(const Node& node, int steps, bool ended = true) {
  const Output output = node.run({"damaris", "verify", "out/x"});
  INFO(output.text);
  CHECK(output.status == (ended ? 0 : 1));
  CHECK_THAT(output.text, Catch::Contains(": all as recorded\n"));
  CHECK_THAT(output.text, Catch::Contains("x: " + std::to_string(steps) + " steps, " + std::to_string(2 * steps) + " files"));
}

}  // namespace

TEST_CASE("what a killed server left that had joined the run of another node's is named by verify, and recovered into the run") {
  const Nodes nodes("refuse");
  if (!nodes.are_there()) return;
  Pair first(nodes.first, nodes.run, 0);
  first.store(0);
  const auto check_recovered = [&](const std::string& step) {
    const Output before = nodes.second.run({"damaris", "verify", "out/x"});
    CHECK(before.status == 1);
    CHECK_THAT(before.text, Catch::Contains("unstored /damaris."));
    CHECK_THAT(nodes.first.run({"damaris", "verify", "out/x"}).text, !Catch::Contains("unstored"));  // it is not there
    const Output output = nodes.second.run({"damaris", "recover"});
    CHECK(output.status == 0);
    CHECK_THAT(output.text, Catch::EndsWith(": 1 block stored, step " + step + ", region removed\n"));
  };
  Pair joined(nodes.second, nodes.run, 1);
  joined.store(0);
  joined.kill_server_with(1);
  const bool at_once = GENERATE(true, false);  // else when the other server has ended, too
  check_recovered("1");
  Pair back(nodes.second, nodes.run, 1);
  back.store(2);
  back.kill_server_with(3);
  if (at_once) check_recovered("3");
  for (const int step : {1, 2, 3}) first.store(step);
  first.end();
  if (!at_once) check_recovered("3");
  check_whole(nodes.second, 4, false);
}

TEST_CASE("rule 16: with stale=\"recover\" a node's next server stores what was left there by one that had joined another's run") {
  const Nodes nodes("recover");
  if (!nodes.are_there()) return;
  {
    Pair first(nodes.first, nodes.run, 0), joined(nodes.second, nodes.run, 1);
    joined.store(0);
    joined.kill_server_with(1);
    for (const int step : {0, 1}) first.store(step);
    first.end();
  }
  Pair first(nodes.second, nodes.run, 1), joined(nodes.first, nodes.run, 0);
  for (Pair* pair : {&first, &joined}) pair->store(2);
  for (Pair* pair : {&first, &joined}) pair->end();
  check_whole(nodes.first, 3);
}

}  // namespace damaris::test
