// Writes one piece as an HDF5 dataset: brick by brick, or with a reduction chunk by chunk, rounded or quantized if declared and compressed
// outside HDF5, by several threads.
// Used by: the hdf5 plugin, on the server's work thread. A server has no other threads but intake, work, log and those here.
// Before it: pieces.hpp, which assigns blocks to datasets. After it: HDF5, by H5Dwrite_chunk for what is compressed; any reader decompresses
// it with its filters.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
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
#include "../layout/memory.hpp"
#include "../layout/pieces.hpp"
#include "codec/encoder.hpp"
#include "manifest/entries.hpp"
#include "precision.hpp"

namespace damaris::hdf5 {

// What the manifest says of the dataset before its values are read.
manifest::DatasetEntry record_of(const Piece& piece);

// What is known of values that follow each other.
struct Summary {
  double min = std::numeric_limits<double>::quiet_NaN(),
         max = min;            // of the finite ones as the simulation wrote them; NaN if none are
  double error = 0;            // the largest, if they are rounded
  std::uint32_t checksum = 0;  // as stored, without those beyond the box
  std::uint64_t bytes = 0;

  // Of the values that follow.
  void add(const Summary& next);
  // Sets the properties of the values in `entry`.
  void fill(manifest::DatasetEntry& entry, bool rounded) const;
  // Writes the attribute value_range, unless there is no finite value.
  void label(hid_t dataset) const;
};
// Of `count` values of the variable, in one pass. Threads: any; pure.
Summary summarize(const dc_variable_info_t& variable, const void* values, std::size_t count);

// A part of a piece that is written at once; reused, so that memory is allocated only for larger ones.
struct Brick {
  Box box;
  const void* values = nullptr;  // as stored
  Summary summary;
  Staging gathered, changed;

  // Provides the values of `box` and their summary. Threads: any.
  void load(const Piece& piece, const Precision& precision);
};

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

class DatasetWriter {
 public:
  // Up to `threads` chunks are compressed at the same time, as far as `memory` allows.
  DatasetWriter(std::vector<Filter> filters, int threads,
                MemoryBound memory = MemoryBound(static_cast<std::uint64_t>(preset_of("memory"))))
      : filters_(std::move(filters)), memory_(memory), workers_(threads), lanes_(static_cast<std::size_t>(workers_.threads())) {}

  // Preallocates the space of all values that bypass HDF5.
  void reserve(Hdf5File& file, const std::vector<Piece>& pieces) const;

  // Creates the dataset and its parent groups, writes all parts and the attributes of reduction and range, and fills `entry`. Throws
  // Failure, or NotStorable before anything of it is in the file. The caller may add attributes.
  Dataset write(Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry);

 private:
  // The state of one worker for one chunk.
  struct ChunkLane : Brick {
    Staging framed;
    std::map<std::pair<dc_codec, int>, std::unique_ptr<codec::Encoder>> encoders;
    codec::Encoded encoded;
  };
  // The dataset being written.
  struct ChunkTarget {
    const Piece& piece;
    const Precision& precision;
    const Dataset& dataset;
    const Type& type;
    Extents chunk;
  };

  bool chunked(const Piece& piece) const;
  bool goes_past_hdf5(const Piece& piece) const;
  Dataset create(const Hdf5File& file, const Piece& piece, const Type& type, const Extents& chunk) const;
  void write_runs(WriteTarget& target, std::uint64_t offset, const Piece& piece, Summary& all);
  void write_chunks(const ChunkTarget& target, Summary& all);
  void prepare(ChunkLane& lane, const ChunkTarget& target) const;
  static void fill_up(ChunkLane& lane, const Box& frame, std::size_t element_bytes);
  void encode(ChunkLane& lane, const ChunkTarget& target, const Box& frame) const;
  void put(const ChunkLane& lane, const ChunkTarget& target) const;

  std::vector<Filter> filters_;
  MemoryBound memory_;
  Float16Scales float16_scales_;
  Workers workers_;
  std::vector<ChunkLane> lanes_;
};

}  // namespace damaris::hdf5
