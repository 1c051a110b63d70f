// Computes the size and checksum of a file on the storage.
// Used by: `damaris verify`, one thread; restart and the writers of views and of files of several servers, on the server's dispatch
// thread.
// Before it: a finished file. After it: the manifest, or the comparison with it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace damaris::manifest {

struct FileSum {
  std::uint64_t bytes = 0;     // read
  std::uint32_t checksum = 0;  // CRC-32 of them
};

// Of the bytes [begin, end), or to the end of the file if that comes first. Calls `progress` now and then with the bytes read so
// far.
// Throws Failure.
FileSum sum_of_file(const std::string& path, std::uint64_t begin = 0, std::uint64_t end = std::numeric_limits<std::uint64_t>::max(),
                    const std::function<void(std::uint64_t done)>& progress = {});

}  // namespace damaris::manifest
