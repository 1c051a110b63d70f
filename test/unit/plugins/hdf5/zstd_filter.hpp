// HDF5's filter 32015 as a reader has it installed: Damaris itself reads without one.
// Used by: tests that read files through HDF5, one thread.
#pragma once

#include <hdf5.h>
#include <zstd.h>

// From HDF5 1.14 on filters have a header of their own.
#if H5_VERSION_GE(1, 13, 0)
#include <H5Zdevelop.h>
#endif

namespace damaris::test {

// HDF5's buffer is exchanged for one that holds what came out. 0: failure.
inline size_t read_zstd_chunk(unsigned flags, size_t, const unsigned*, size_t stored_bytes, size_t* room_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  const auto bytes = static_cast<std::size_t>(ZSTD_getFrameContentSize(*buffer, stored_bytes));
  void* const out = H5allocate_memory(bytes, false);
  if (ZSTD_decompress(out, bytes, *buffer, stored_bytes) != bytes) {
    H5free_memory(out);
    return 0;
  }
  H5free_memory(*buffer);
  *buffer = out;
  *room_bytes = bytes;
  return bytes;
}

inline void install_zstd() {
  if (H5Zfilter_avail(32015) > 0) return;
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, 32015, 1, 1, "zstd", nullptr, nullptr, read_zstd_chunk};
  H5Zregister(&filter);
}

}  // namespace damaris::test
