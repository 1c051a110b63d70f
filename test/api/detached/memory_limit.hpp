// A memory control group with a small limit: what is put into it and takes more is killed by the kernel.
// Used by: the test of too little memory, one thread. Needs rights that are often missing; works with both versions of control groups.
// Before it: a process. After it: SIGKILL by the kernel, and how often.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "process.hpp"

namespace damaris::test {

class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t bytes) {
    const std::string name = "/damaris-test-" + std::to_string(::getpid());
    for (const std::string& around : places()) {
      std::error_code refused;
      if (!std::filesystem::create_directory(around + name, refused)) continue;
      path_ = around + name;
      first_version_ = std::filesystem::exists(path_ + "/memory.limit_in_bytes");
      if (set(first_version_ ? "memory.limit_in_bytes" : "memory.max", bytes)) break;
      remove();
    }
    // Where there is swap space.
    if (!path_.empty()) (void)(first_version_ ? set("memory.memsw.limit_in_bytes", bytes) : set("memory.swap.max", 0));
  }
  // The last process in it may still be on its way out.
  ~MemoryLimit() {
    (void)wait_until([this] { return remove(); });
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  bool holds(pid_t process) const { return !path_.empty() && set("cgroup.procs", static_cast<std::uint64_t>(process)); }
  int kills() const {
    std::ifstream file(path_ + (first_version_ ? "/memory.oom_control" : "/memory.events"));
    int value = 0;
    for (std::string key; file >> key >> value;)
      if (key == "oom_kill") return value;
    return 0;
  }

 private:
  // Below this process's own group, and beside it.
  static std::vector<std::string> places() {
    std::vector<std::string> found;
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
      const std::string own = line.substr(line.rfind(':') + 1);
      std::string mounted;
      if (line.find(":memory:") != std::string::npos) mounted = "/sys/fs/cgroup/memory";
      if (line.rfind("0::", 0) == 0) mounted = "/sys/fs/cgroup";
      if (mounted.empty() || !std::filesystem::exists(mounted + own + "/cgroup.procs")) continue;
      found.push_back(mounted + own);
      if (own != "/") found.push_back(mounted + own.substr(0, own.rfind('/')));
    }
    return found;
  }
  bool set(const std::string& file, std::uint64_t value) const {
    if (!std::filesystem::exists(path_ + "/" + file)) return false;
    std::ofstream out(path_ + "/" + file);
    out << value << std::flush;
    return out.good();
  }
  bool remove() {
    if (!path_.empty() && ::rmdir(path_.c_str()) != 0 && errno == EBUSY) return false;
    path_.clear();
    return true;
  }

  std::string path_;
  bool first_version_ = false;
};

}  // namespace damaris::test
