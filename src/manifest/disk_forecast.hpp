// Foresight: how many more steps the file system of the output has room for.
// Used by: the hdf5 plugin, on the dispatch thread of the server that keeps the manifest.
// Before it: a step is stored. After it: a warning in the log and in the manifest.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace damaris::manifest {

class DiskForecast {
 public:
  enum class Tells { nothing, warning, relief };
  struct Said {
    Tells what = Tells::nothing;
    std::string sentence;
  };

  explicit DiskForecast(std::string folder) : folder_(std::move(folder)) {}

  // A step of so many bytes is stored. Speaks up when fewer than 10, 3 or 1 more of the size of the last ones fit, once at each of
  // these marks, and when there is room again for twice as many. A quota is not seen, nor what other runs will take.
  Said stored(std::uint64_t bytes);
  // The same for a known free space.
  Said stored(std::uint64_t bytes, std::uint64_t free_bytes);

 private:
  std::string folder_;
  std::deque<std::uint64_t> last_;  // bytes of a step
  std::size_t passed_ = 0;          // marks that it has reported
};

}  // namespace damaris::manifest
