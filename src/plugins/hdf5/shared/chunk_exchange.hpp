// Encodes the chunks of a shared file on all servers of the group, and brings them to the leader, which writes them.
// Used by: the hdf5 plugin, on the server's work thread; on all members at the same time.
// Before it: storage_plan.hpp; on the leader a file with its datasets. After it: chunk_store.hpp; the manifest's record of each part.
//
//   member -> owner    part    values of the member in a chunk that the owner encodes, in the file's type
//   owner  -> leader   chunk   an encoded chunk
//   member -> leader   end     no more chunks
// A message holds at most one chunk.
#pragma once

#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "../write/chunk_encoder.hpp"
#include "chunk_grid.hpp"
#include "chunk_store.hpp"
#include "manifest/entries.hpp"
#include "team.hpp"

namespace damaris::hdf5 {

class ChunkExchange {
 public:
  // `step`: nullptr if this member has no data. `store`: on the leader; elsewhere nullptr.
  ChunkExchange(Team& team, ChunkEncoder& encoder, const SharedLayout& layout, const dc_step_t* step, ChunkStore* store)
      : team_(team), encoder_(encoder), layout_(layout), step_(step), store_(store) {}

  // Whether a dataset of the layout has chunks; else there is nothing to do.
  static bool has_work(const SharedLayout& layout);
  // Returns the records of this member's boxes, by dataset; of those without chunks none. A member that fails continues with the others,
  // without data, and throws at the end, as they would otherwise wait for it.
  std::vector<std::vector<manifest::DatasetEntry>> run();

 private:
  // What is known of a chunk's values, or of a part of them.
  struct Facts {
    BrickRange range = no_range();
    double error = 0;
  };
  struct Head;
  // Values that another member has sent of a chunk of this one.
  struct ReceivedPart {
    std::size_t share;
    Facts facts;
    std::vector<std::byte> values;
    bool failed;
  };
  // The dataset that is being encoded.
  struct Work {
    std::size_t number;
    const SharedDataset& dataset;
    std::vector<SharedChunk> chunks;
    std::vector<Piece> pieces;
    std::vector<manifest::DatasetEntry> entries;                                     // of the pieces
    std::vector<std::map<std::size_t, std::pair<std::uint32_t, std::size_t>>> sums;  // of the pieces, by chunk: checksum and bytes
  };

  Work begin(std::size_t number) const;
  void send_parts(Work& work);
  void encode_simple(Work& work);
  void encode_joint(Work& work);
  void encode_joint(Work& work, std::size_t chunk);
  void finish(Work& work);
  StoredValues take(Work& work, std::size_t chunk, const ChunkShare& share);
  static void note(Work& work, std::size_t chunk, const ChunkShare& share, const StoredValues& values);
  void put(const Work& work, std::size_t chunk, const EncodedChunk& encoded, const Facts& facts);
  void send(int to, const Head& head, const void* data, std::size_t bytes);
  void receive(const Team::Message& message);
  void receive_chunk(const Head& head, const std::byte* data, std::size_t bytes);
  void wait_for_others();
  template <class Step>
  void attempt(Step&& step);
  Team::Receive receiver() {
    return [this](int, const Team::Message& message) { receive(message); };
  }

  Team& team_;
  ChunkEncoder& encoder_;
  const SharedLayout& layout_;
  const dc_step_t* step_;
  ChunkStore* store_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<ReceivedPart>> received_;  // by dataset and chunk
  std::size_t parts_due_ = 0, parts_received_ = 0;
  int ended_ = 0;  // members that have sent all
  Staging frame_;
  std::exception_ptr failure_;  // the first one
};

}  // namespace damaris::hdf5
