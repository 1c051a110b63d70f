// What encodes the chunks of a dataset: the HDF5 filters that it declares, by which readers decode them, and the codec that does their work.
// Used by: the hdf5 plugin, on the server's work thread and its workers.
// Before it: the variable's `reduce`, or filters="...". After it: chunk_encoder.hpp; the dataset's creation properties.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "../attributes/values.hpp"
#include "../file/handle.hpp"
#include "codec/encoder.hpp"

namespace damaris::hdf5 {

struct ChunkCodec {
  bool shuffle = false;
  std::optional<codec::Codec> codec;
  int level = 0;

  bool encodes() const { return shuffle || codec.has_value(); }
  // The filter mask of a chunk that is stored as it is.
  std::uint32_t skip_all() const { return (1U << (static_cast<unsigned>(shuffle) + static_cast<unsigned>(codec.has_value()))) - 1; }
};

// Encodes nothing if the reduction has no codec.
ChunkCodec codec_of(const dc_reduction_t& reduction);
// That of the reduction, or, if it has none, that of HDF5's filters.
ChunkCodec codec_of(const dc_reduction_t& reduction, const std::vector<Filter>& filters);

// Adds the codec's filters to a dataset's creation properties.
void declare(const Properties& dataset, const ChunkCodec& codec);

}  // namespace damaris::hdf5
