#include "never_stops/slow_target.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"

namespace damaris::bench {

// The file that storage/slow_storage.c maps.
struct SlowTarget::Queue {
  std::atomic<std::int64_t> free_at_ns;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> rate;
};

std::filesystem::path bench_library(const std::string& name) {
  const std::filesystem::path libraries = library_folder();
  for (const auto& folder : {libraries.parent_path() / "bench", libraries / "damaris" / "bench"})
    if (std::filesystem::exists(folder / name)) return folder / name;
  throw Error(DC_E_CONFIG, format("the benchmark's {} is neither in the built tree nor installed below {}; build it with HDF5",
                                  name, libraries.string()));
}

SlowTarget::SlowTarget(const std::filesystem::path& folder) {
  const std::filesystem::path library = bench_library("damaris_bench_slow_storage.so"), link = folder / "slow.so";
  const std::string file = (folder / "queue").string();
  if (!std::filesystem::exists(link)) std::filesystem::create_symlink(library, link);  // LD_PRELOAD takes no path with a space
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (descriptor >= 0 && ::ftruncate(descriptor, sizeof(Queue)) == 0)
    memory = ::mmap(nullptr, sizeof(Queue), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (memory == MAP_FAILED)
    throw system_error(DC_E_NO_OUTPUT, "cannot make " + file, reason, "give --folder one that can be written");
  queue_ = static_cast<Queue*>(memory);
  ::setenv("LD_PRELOAD", link.c_str(), 1);
  ::setenv("DAMARIS_BENCH_UNDER", (folder / "out").c_str(), 1);
  ::setenv("DAMARIS_BENCH_QUEUE", file.c_str(), 1);
  ::setenv("DAMARIS_BENCH_RATE", "1e12", 1);
}

SlowTarget::~SlowTarget() {
  for (const char* name : {"LD_PRELOAD", "DAMARIS_BENCH_UNDER", "DAMARIS_BENCH_QUEUE", "DAMARIS_BENCH_RATE"}) ::unsetenv(name);
  ::munmap(queue_, sizeof(Queue));
}

void SlowTarget::hang(double seconds) {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  queue_->free_at_ns.store(now.tv_sec * 1'000'000'000 + now.tv_nsec + static_cast<std::int64_t>(seconds * 1e9));
}

void SlowTarget::set_rate(std::uint64_t bytes_per_s) { queue_->rate.store(bytes_per_s); }
std::uint64_t SlowTarget::bytes() const { return queue_->bytes.load(); }

}  // namespace damaris::bench
