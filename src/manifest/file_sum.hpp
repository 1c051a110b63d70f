// The checksum of a file as it lies on the storage.
// Used by: `damaris verify`, one thread; restart and the writers of views and of files of several servers, on the server's dispatch thread.
// Before it: a file that nobody changes any more. After it: the manifest, or the comparison with it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace damaris::manifest {

struct FileSum {
  std::uint64_t bytes = 0;     // that were read
  std::uint32_t checksum = 0;  // CRC-32 of them
};

// Of the bytes from `begin` up to, not including, `end`, or to the end of the file if that comes first. `progress` hears of the bytes read so
// far, now and then. Throws Failure.
FileSum sum_of_file(const std::string& path, std::uint64_t begin = 0, std::uint64_t end = std::numeric_limits<std::uint64_t>::max(),
                    const std::function<void(std::uint64_t done)>& progress = {});

}  // namespace damaris::manifest
