// Writes one piece as an HDF5 dataset: brick by brick, or with a reduction chunk by chunk, rounded or quantized if declared and compressed
// outside HDF5, by several threads.
// Used by: the hdf5 plugin, on the server's work thread. A server has no other threads but intake, work, log and those here.
// Before it: pieces.hpp, which assigns blocks to datasets. After it: HDF5, by H5Dwrite_chunk for what is compressed; any reader decompresses
// it with its filters.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "../attributes/attributes.hpp"
#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "../file/new_dataset.hpp"
#include "../file/write_target.hpp"
#include "../layout/gather.hpp"
#include "../layout/memory.hpp"
#include "../layout/pieces.hpp"
#include "brick_index.hpp"
#include "codec/encoder.hpp"
#include "manifest/entries.hpp"
#include "precision.hpp"

namespace damaris::hdf5 {

// Runs a task in parallel; the caller takes part and waits.
class Workers {
 public:
  // `threads` includes the caller's; 1 starts none. Throws damaris::Error(DC_E_MEMORY) if the system refuses them.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls task(0) ... task(count - 1), each once, and returns when all are done; then rethrows the first exception of a task.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  Workers() = default;
  void work();
  void run_tasks(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t next_ = 0, count_ = 0, busy_ = 0;
  std::exception_ptr thrown_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

// Writes a piece with a reduction.
class ChunkWriter {
 public:
  // `filters`: HDF5's own, for pieces that are rounded but not compressed.
  ChunkWriter(std::vector<Filter> filters, int threads, MemoryBound memory)
      : filters_(std::move(filters)), memory_(memory), workers_(threads), lanes_(static_cast<std::size_t>(workers_.threads())) {}

  // Creates the dataset and its parent groups, writes all parts and the attributes of reduction and range, and fills `entry`. Throws
  // Failure, or Refused for values that cannot be stored as declared.
  Dataset write(const Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry);

 private:
  // The state of one worker for one chunk; reused, so that memory is allocated only for larger chunks.
  struct ChunkLane {
    Staging gathered, changed, framed;
    std::map<std::pair<dc_codec, int>, std::unique_ptr<codec::Encoder>> encoders;
    Box brick;
    const void* values = nullptr;
    codec::Encoded encoded;
    BrickRange range = {};
    std::uint32_t checksum = 0;  // of the values as stored, without those beyond the box
    double error = 0;
  };
  // The dataset being written.
  struct ChunkTarget {
    const Piece& piece;
    const Precision& precision;
    const Dataset& dataset;
    const Type& type;
    Extents chunk;
    manifest::DatasetEntry& entry;
  };

  void prepare(ChunkLane& lane, const ChunkTarget& target) const;
  void encode(ChunkLane& lane, const ChunkTarget& target, const Box& frame) const;
  void put(const ChunkLane& lane, const ChunkTarget& target) const;
  static void fill_up(ChunkLane& lane, const Box& frame, std::size_t element_bytes);
  static void note(const ChunkLane& lane, const ChunkTarget& target, BrickIndex& index);
  void write_all(const ChunkTarget& target);

  std::vector<Filter> filters_;
  MemoryBound memory_;
  Float16Scales float16_scales_;
  Workers workers_;
  std::vector<ChunkLane> lanes_;
};

class DatasetWriter {
 public:
  // Up to `threads` chunks of reduced variables are compressed at the same time, as far as `memory` allows.
  DatasetWriter(std::vector<Filter> filters, int threads,
                MemoryBound memory = MemoryBound(static_cast<std::uint64_t>(preset_of("memory"))))
      : filters_(std::move(filters)), memory_(memory), reducer_(filters_, threads, memory) {}

  // Preallocates the space of all values that will be written unreduced.
  void reserve(Hdf5File& file, const std::vector<Piece>& pieces) const;

  // Creates the dataset and its parent groups, writes all parts and the index of its values, and fills `entry`. Throws Failure, or Refused
  // before anything of it is in the file. The caller may add attributes.
  Dataset write(Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry);

 private:
  bool chunked(const Piece& piece) const;
  bool goes_past_hdf5(const Piece& piece) const;
  Dataset create(const Hdf5File& file, const Piece& piece, const Type& type, const Extents& brick) const;
  BrickRange write_run(AlignedWriter& out, const Piece& piece, const Box& brick, manifest::DatasetEntry& entry);
  BrickRange write_chunk(const Dataset& dataset, const Type& type, const Piece& piece, const Box& brick,
                         manifest::DatasetEntry& entry);

  std::vector<Filter> filters_;
  MemoryBound memory_;
  Staging staging_;
  ChunkWriter reducer_;
};

}  // namespace damaris::hdf5
