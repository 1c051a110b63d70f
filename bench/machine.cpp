#include "machine.hpp"

#include <damaris/version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace damaris::bench {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

// Of one core, as the kernel reports it; on some processors sysconf adds up those of all.
long last_level_cache_bytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  long size = 0;
  char unit = 0;
  if (file >> size >> unit && unit == 'K') return size * 1024;
  return ::sysconf(_SC_LEVEL3_CACHE_SIZE);
}

std::vector<int> read_allowed_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

}  // namespace

const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = read_allowed_cores();
  return cores;
}

bool pin_to_core(std::size_t index) {
  const std::vector<int>& cores = allowed_cores();
  if (index >= cores.size() || cores.size() < 2) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[index], &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

Json describe_machine() {
  utsname system = {};
  ::uname(&system);
  double load = 0;
  if (::getloadavg(&load, 1) != 1) load = -1;
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{"processor", processor_name()},
          {"cores", allowed_cores().size()},
          {"last_level_cache_bytes", last_level_cache_bytes()},
          {"cache_of_libc_bytes", ::sysconf(_SC_LEVEL3_CACHE_SIZE)},
          {"memory_bytes", static_cast<std::uint64_t>(pages)},
          {"system", std::string(system.sysname) + " " + system.release},
          {"load_1min_at_start", load},
          {"damaris", DAMARIS_VERSION},
          {"compiler", __VERSION__}};
}

}  // namespace damaris::bench
