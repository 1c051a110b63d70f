// A server that is killed with data in hand, and the command that stores them.
// Used by: the tests of recovery, one thread.
// Before it: a Run. After it: what the command printed, and what it stored.
#pragma once

#include "run.hpp"

namespace damaris::test {

// The server runs in the test's working folder, or where the first client was: relative names are from there.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder); }
  ~InFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

// All lines that a program prints, and its exit status.
struct Output {
  int status;
  std::string text;
};
inline std::string all_lines(Process& process) {
  std::string text;
  for (std::string line; !(line = process.line()).empty();) text += line + "\n";
  return text;
}
inline Output damaris(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"damaris"};
  command.insert(command.end(), words.begin(), words.end());
  Process process(command, true);
  const std::string text = all_lines(process);
  return {process.wait(), text};
}

// A server that is killed with step 0 stored and step 1 in hand: never stored. `complete`: no other client is waited for.
inline shm::FoundRegion kill_with_data(Run& run, bool complete = true) {
  TestClient& client = run.attached(0);
  if (complete)
    for (const char* command : {"write 0", "end 0", "flush 0 60000"}) client.must(command);
  const shm::FoundRegion region = run.region();
  stop(region.server_pid);
  for (const char* command : {"write 1", "end 1"}) client.must(command);
  ::kill(region.server_pid, SIGKILL);
  wait_until_dead(region);
  return region;
}

}  // namespace damaris::test
