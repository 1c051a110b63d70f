// Writes the encoded chunks of a shared file, and labels each dataset when its last chunk is there.
// Used by: the hdf5 plugin of the group's leader, on its work thread.
// Before it: dataset_creator.hpp; chunk_exchange.hpp, which brings the chunks of all members. After it: the closed file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "../file/hdf5_file.hpp"
#include "../write/brick_index.hpp"
#include "../write/chunk_encoder.hpp"
#include "shared_layout.hpp"

namespace damaris::hdf5 {

class ChunkStore {
 public:
  // Both must outlive this object.
  ChunkStore(const Hdf5File& file, const SharedLayout& layout, int members);

  // `number`: of the chunk in chunks_of(). `range`, `error`: of its values. Throws Failure.
  void put(std::size_t dataset, std::size_t number, const EncodedChunk& chunk, const BrickRange& range, double error);
  // By dataset of the layout, when all chunks are there.
  const std::vector<std::uint64_t>& stored_bytes() const { return stored_bytes_; }

 private:
  // A dataset of which some chunks are not there yet.
  struct Open {
    Dataset dataset;
    std::vector<Box> chunks;
    std::size_t missing;                   // of them
    std::map<Extents, BrickRange> ranges;  // by low corner
    std::optional<double> largest_error;
  };
  Open& open(std::size_t number);
  void label(std::size_t number, const Open& open) const;

  const Hdf5File& file_;
  const SharedLayout& layout_;
  int members_;
  std::map<std::size_t, Open> open_;
  std::vector<std::uint64_t> stored_bytes_;
};

}  // namespace damaris::hdf5
