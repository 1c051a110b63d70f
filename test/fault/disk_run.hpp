// A run of a detached server with one client whose disk fails as the test says: <folder>/out below the preloaded faulty_disk.c.
// Used by: the tests of storage faults, one thread.
// Before it: the attributes of <hdf5>. After it: the client's answers, the server's log, the manifest, what is left in the folder.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/detached/run.hpp"
#include "core/base/json.hpp"
#include "support/manifest_lines.hpp"

namespace damaris::test {

// What to put before a command so that it runs in `folder`, with a disk that does what <folder>/rules says.
// LD_PRELOAD takes no path with a space.
inline std::vector<std::string> on_faulty_disk(const std::string& folder) {
  const std::string library = folder + "/disk.so";
  if (!std::filesystem::exists(library)) std::filesystem::create_symlink(std::getenv("DAMARIS_TEST_FAULTY_DISK"), library);
  return {"env",
          "-C",
          folder,
          "LD_PRELOAD=" + library,
          "DAMARIS_FAULT_UNDER=" + folder + "/out",
          "DAMARIS_FAULT_RULES=" + folder + "/rules",
          "DAMARIS_FAULT_LOG=" + folder + "/calls"};
}

inline std::vector<std::string> lines_of(const std::string& path, const std::string& part = "") {
  std::ifstream file(path);
  std::vector<std::string> found;
  for (std::string line; std::getline(file, line);)
    if (line.find(part) != std::string::npos) found.push_back(line);
  return found;
}

// What the manifest says of a step; no object when nothing.
inline Json recorded(const std::string& folder, std::int64_t step) { return recorded_step(folder + "/out/run", step); }

// All that a command printed.
inline std::string printed_by(const std::vector<std::string>& command) {
  Process process(command);
  std::string text;
  for (std::string line = process.line(); !line.empty(); line = process.line()) text += line + "\n";
  process.wait();
  return text;
}

// As `damaris verify --json` prints it.
inline Json verified(const std::string& folder) {
  const std::string text = printed_by({"damaris-verify", "--json", folder + "/out/run"});
  INFO(text);
  REQUIRE(Json::accept(text));
  return Json::parse(text);
}

class DiskRun {
 public:
  explicit DiskRun(const std::string& hdf5 = "", const std::string& architecture = "<clients count='1'/>",
                   const std::string& log = "log")
      : run_(architecture,
             "<storage><hdf5 basename='out/run' " + hdf5 + "/></storage><log file='" + log + "'/>" + Run::kRecorder +
                 "<event name='e' plugin='recorder'/><event name='hold' action='hold' using='damaris_test_recorder.so'/>") {
    std::filesystem::create_directory(file("out"));
    start();
  }
  // A server of the same XML, when the one before has left, and the client once more.
  void start() {
    std::vector<std::string> command = on_faulty_disk(folder());
    for (const char* word : {"DAMARIS_LOG=info", "damaris-server"}) command.emplace_back(word);
    command.push_back(run_.config());
    server_ = std::make_unique<Process>(command, true);
    run_.region();
    client.must("init 0");
  }

  std::string folder() const { return run_.folder().path().string(); }
  std::string file(const std::string& name) const { return run_.folder().file(name); }
  // From now on; "" ends all faults.
  void rule(const std::string& text) const {
    run_.folder().write("rules.next", text);
    std::filesystem::rename(file("rules.next"), file("rules"));
  }
  void write(int step) {
    client.must("write " + std::to_string(step));
    client.must("end " + std::to_string(step));
  }
  void store(int step) {
    write(step);
    client.must("flush " + std::to_string(step) + " 60000");
  }
  // The same of a step that will be given up: what the client hears of it. A quick server has said it by the end of the step.
  Answer lose(int step) {
    client.must("write " + std::to_string(step));
    const Answer ended = client("end " + std::to_string(step));
    return ended.code == DC_OK ? client("flush " + std::to_string(step) + " 60000") : ended;
  }
  // Asks until the time-out of a flush tells of `part`.
  bool waits_for(int step, const std::string& part) {
    return wait_until([&] {
      const Answer answer = client("flush " + std::to_string(step) + " 20");
      return answer.code == DC_E_TIMEOUT && answer.sentence.find(part) != std::string::npos;
    });
  }
  // The client has finalized: the server leaves with this status.
  int server_status() { return server_->wait(); }
  // And nothing is left of it.
  int ends() {
    const int status = server_status();
    CHECK(run_.regions().empty());
    return status;
  }
  void stop() { server_->kill(SIGTERM); }
  std::vector<std::string> logged(const std::string& part) const { return lines_of(file("log"), part); }
  // Whether the log says of the server's main loop that it has been in `place`, after how many seconds it ever came to that.
  bool named_in_log(const std::string& place) const {
    const std::vector<std::string> lines = logged("the server has been " + place);
    return lines.size() == 1 && std::atof(lines[0].c_str() + lines[0].find(place) + place.size()) >= 8;
  }
  std::vector<std::string> calls(const std::string& part = "") const { return lines_of(file("calls"), part); }
  // Files that have no business there any more.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(file("out")))
      if (entry.path().filename().string().find(".tmp") != std::string::npos) names.push_back(entry.path().filename().string());
    return names;
  }
  const Run& run() const { return run_; }
  TestClient& attached(int id) { return run_.attached(id); }
  Process& server() { return *server_; }

 private:
  Run run_;
  std::unique_ptr<Process> server_;

 public:
  TestClient& client = run_.client(0);
};

}  // namespace damaris::test
