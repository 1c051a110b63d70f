// One run with a detached server: its folder, its job, its clients, what its server logged, what is in /dev/shm.
// Used by: the detached tests, one thread; the processes are client.c and damaris-server.
// Before it: an XML. After it: codes and sentences of the clients, the recorder plugin's lines.
#pragma once

#include <damaris/damaris.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "core/shm/dead_regions.hpp"
#include "process.hpp"
#include "support/temp_folder.hpp"

namespace damaris::test {

struct Answer {
  int code = 0;
  std::string sentence;
};

class TestClient {
 public:
  explicit TestClient(const std::string& config)
      : TestClient(std::vector<std::string>{std::getenv("DAMARIS_TEST_CLIENT"), config}) {}
  explicit TestClient(const std::vector<std::string>& command) : process_(command) {}
  void ask(const std::string& command) { process_.say(command); }
  Answer answer() {
    const std::string line = process_.line();
    const auto blank = line.find(' ');
    const std::string code = line.substr(0, blank);
    if (blank == std::string::npos || code.empty() || code.find_first_not_of("-0123456789") != std::string::npos)
      FAIL("the client said: '" + line + "'");
    return {std::stoi(code), line.substr(blank + 1)};
  }
  Answer operator()(const std::string& command) {
    ask(command);
    return answer();
  }
  // For what must work.
  void must(const std::string& command) {
    const Answer answer = (*this)(command);
    INFO(command + ": " + answer.sentence);
    REQUIRE(answer.code == DC_OK);
  }
  Process& process() { return process_; }

 private:
  Process process_;
};

// Until no part of the killed server is left, as its clients and a recovery see it.
inline void wait_until_dead(const shm::FoundRegion& region) {
  REQUIRE(wait_until([&] {
    const auto found = shm::find_regions(region.name);
    return found.empty() || !found[0].alive;
  }));
}

class Run {
 public:
  // `architecture` and `rest` go into the XML.
  explicit Run(const std::string& architecture = "<clients count='2'/>", const std::string& rest = kRecorder)
      : config_(folder_.write("run.xml", xml(architecture, rest))) {
    ::setenv("DAMARIS_JOB", folder_.path().filename().c_str(), 1);
    job_ = shm::job_name();
    ::setenv("DAMARIS_TEST_LOG", folder_.file("log").c_str(), 1);
  }
  // A server that still waits for clients of this run would wait long, and what a killed one left would stay.
  ~Run() {
    clients_.clear();
    for (const shm::FoundRegion& found : shm::find_regions(shm::job_prefix()))
      if (found.alive) ::kill(found.server_pid, SIGKILL);
    for (const std::string& region : regions()) std::filesystem::remove(region);
  }

  static inline const std::string kRecorder = "<plugin name='recorder' using='damaris_test_recorder.so'/>";
  static std::string xml(const std::string& architecture, const std::string& rest = kRecorder) {
    return "<simulation name='run'><architecture>" + architecture + "</architecture><data><layout name='line' type='double' " +
           "dimensions='16'/><variable name='x' layout='line'/></data>" + rest + "</simulation>";
  }

  const std::string& config() const { return config_; }
  const TempFolder& folder() const { return folder_; }
  const std::string& job() const { return job_; }
  // Of its regions, when no storage has a basename.
  shm::RunKey key() const { return {"run", std::filesystem::canonical(config_).string()}; }

  // The client of that number; a process is started at the first use.
  TestClient& client(int number) {
    auto& client = clients_[number];
    if (client == nullptr) client = std::make_unique<TestClient>(config_);
    return *client;
  }
  TestClient& attached(int id) {
    client(id).must("init " + std::to_string(id));
    return client(id);
  }
  void drop(int number) { clients_.erase(number); }

  // damaris-server in the foreground, as a user starts it.
  std::unique_ptr<Process> start_server(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"damaris-server", config_});
    return std::make_unique<Process>(options, true);
  }
  std::unique_ptr<Process> ready_server(const std::vector<std::string>& options = {}) const {
    auto process = start_server(options);
    region();
    return process;
  }

  // The one region of this run, as soon as its server is ready.
  shm::FoundRegion region() const {
    std::vector<shm::FoundRegion> found;
    const bool ready = wait_until([&] {
      found = shm::find_regions(shm::job_prefix());
      return !found.empty() && found[0].ready;
    });
    REQUIRE(ready);
    REQUIRE(found.size() == 1);
    return found[0];
  }
  // What is in /dev/shm of this run.
  std::vector<std::string> regions() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().find("." + job_ + ".") != std::string::npos) found.push_back(entry.path().string());
    return found;
  }
  // The server has gone, and its region with it.
  bool ends() const {
    return wait_until([&] { return regions().empty(); });
  }

  std::vector<std::string> lines(const std::string& part = "") const {
    std::ifstream log(folder_.file("log.s0"));
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);)
      if (line.find(part) != std::string::npos) found.push_back(line);
    return found;
  }

 private:
  TempFolder folder_;
  std::string config_, job_;
  std::map<int, std::unique_ptr<TestClient>> clients_;
};

}  // namespace damaris::test
