// Decides how the values of each dataset of a shared file are stored: precision, codec and chunks, the same on all servers.
// Used by: the hdf5 plugin, on the server's work thread; collective over the group.
// Before it: shared_layout.hpp. After it: dataset_creator.hpp; chunk_exchange.hpp and box_writer.hpp, which write the values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../layout/gather.hpp"
#include "../write/fill.hpp"
#include "../write/precision.hpp"
#include "shared_layout.hpp"
#include "team.hpp"

namespace damaris::hdf5 {

class StoragePlan {
 public:
  // `codec_bytes`: a chunk can be compressed within them.
  StoragePlan(Team& team, const std::vector<Filter>& filters, std::uint64_t codec_bytes)
      : team_(team), filters_(filters), codec_bytes_(std::min(codec_bytes, kMostBytes)) {}

  // Completes the datasets, and removes those whose values cannot be stored as declared, which are in refused() where this member has some of
  // the values. `step`: nullptr if it has none. Throws Failure; Refused on all if no dataset is left.
  void apply(SharedLayout& layout, const dc_step_t* step, Staging& staging);
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;  // so that a chunk fits into a message

  void choose_chunks(SharedDataset& dataset) const;
  void agree_on_16_bits(SharedLayout& layout, const dc_step_t* step, Staging& staging);

  Team& team_;
  const std::vector<Filter>& filters_;
  std::uint64_t codec_bytes_;
  Float16Scales scales_;  // of the leader, which chooses for all
  std::vector<std::string> refused_;
};

}  // namespace damaris::hdf5
