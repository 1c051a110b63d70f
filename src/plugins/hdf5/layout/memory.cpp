#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "core/base/failure.hpp"

namespace damaris::hdf5 {
namespace {

std::uint64_t bytes_of(const Extents& extents, int ndims, std::size_t element_bytes) {
  std::uint64_t bytes = element_bytes;
  for (int d = 0; d < ndims; ++d) bytes *= static_cast<std::uint64_t>(extents[d]);
  return bytes;
}

}  // namespace

Extents cut_to(Extents extents, int ndims, std::size_t element_bytes, std::uint64_t codec_bytes) {
  for (int d = 0; d < ndims; ++d)
    while (extents[d] > 1 && bytes_of(extents, ndims, element_bytes) * kCopiesOfChunk > codec_bytes)
      extents[d] = (extents[d] + 1) / 2;
  return extents;
}

std::size_t lanes_within(std::uint64_t codec_bytes, std::uint64_t chunk_bytes, std::size_t most) {
  const std::uint64_t each = std::max<std::uint64_t>(chunk_bytes * kCopiesOfChunk, 1);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(codec_bytes / each, 1, most));
}

void require_memory_for_file(const std::string& path) {
  constexpr std::size_t kEnough = std::size_t{16} << 20;
  void* tried = ::mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (tried == MAP_FAILED)
    throw Failure("cannot open " + path + ": less than 16 MiB of memory are left (see ulimit -v, and the memory of the job)",
                  ENOMEM);
  ::munmap(tried, kEnough);
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared) || shared > resident) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace damaris::hdf5
