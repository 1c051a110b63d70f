#include "chunk_codec.hpp"

#include <algorithm>

namespace damaris::hdf5 {

ChunkCodec codec_of(const dc_reduction_t& reduction) {
  if (reduction.codec == DC_CODEC_NONE) return {};
  return {true, reduction.codec == DC_CODEC_DEFLATE ? codec::Codec::kDeflate : codec::Codec::kZstd, reduction.level};
}

ChunkCodec codec_of(const dc_reduction_t& reduction, const std::vector<Filter>& filters) {
  ChunkCodec codec = codec_of(reduction);
  if (codec.encodes()) return codec;
  for (const Filter& filter : filters) {
    if (filter.kind == Filter::shuffle) codec.shuffle = true;
    if (filter.kind != Filter::deflate) continue;
    codec.codec = codec::Codec::kDeflate;
    codec.level = static_cast<int>(filter.level);
  }
  return codec;
}

void declare(const Properties& dataset, const ChunkCodec& codec) {
  constexpr unsigned kMostOfHdf5 = 9;
  if (codec.shuffle) checked(H5Pset_shuffle(dataset.id()), "set the shuffle filter");
  const auto level = static_cast<unsigned>(codec.level);
  if (codec.codec == codec::Codec::kDeflate)
    checked(H5Pset_deflate(dataset.id(), std::min(level, kMostOfHdf5)), "set the deflate filter");
  if (codec.codec == codec::Codec::kZstd)  // optional: this HDF5 need not have the filter, as it never runs it
    checked(H5Pset_filter(dataset.id(), codec::kZstdFilter, H5Z_FLAG_OPTIONAL, 1, &level), "set the zstd filter");
}

}  // namespace damaris::hdf5
