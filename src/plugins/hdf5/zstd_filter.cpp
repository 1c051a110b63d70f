#include "zstd_filter.hpp"

#include <optional>

#include "failure.hpp"
#include "plugins/reduce/encoder.hpp"
#include "plugins/reduce/zstd.hpp"

// From HDF5 1.14 on filters have a header of their own.
#if H5_VERSION_GE(1, 13, 0)
#include <H5Zdevelop.h>
#endif

namespace damaris::hdf5 {
namespace {

// HDF5's buffer is of its own allocation and is exchanged for one that holds what came out. 0: failure.
size_t read_chunk(unsigned flags, size_t, const unsigned*, size_t packed_bytes, size_t* room_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  const std::optional<std::size_t> bytes = reduce::unpacked_bytes(*buffer, packed_bytes);
  if (!bytes || *bytes == 0) return 0;
  void* const out = H5allocate_memory(*bytes, false);
  if (out == nullptr) return 0;
  if (!reduce::unpack(*buffer, packed_bytes, out, *bytes)) {
    H5free_memory(out);
    return 0;
  }
  H5free_memory(*buffer);
  *buffer = out;
  *room_bytes = *bytes;
  return *bytes;
}

}  // namespace

void register_zstd() {
  if (H5Zfilter_avail(reduce::kZstdFilter) > 0) return;
  // It says that it writes too, or HDF5 would make no dataset with it; asked to, it fails, and an optional filter is left out then.
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, reduce::kZstdFilter, 1, 1, "zstd", nullptr, nullptr, read_chunk};
  checked(H5Zregister(&filter), "register the zstd filter");
}

}  // namespace damaris::hdf5
