// Writes a shared file: the leader of the group creates its groups, datasets and attributes, each server writes its part, box by box,
// collectively where HDF5 requires it, and the leader completes the file.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: shared_layout.hpp, output_file.hpp. After it: the file is published, and the manifest records what each server wrote.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "../file/new_dataset.hpp"
#include "../write/dataset_writer.hpp"
#include "core/base/output_file.hpp"
#include "manifest/entries.hpp"
#include "shared_layout.hpp"
#include "team.hpp"

namespace damaris::hdf5 {

// One server alone creates the file, so that a refusal of the file system is detected before the others begin: HDF5 does not survive a
// write error while several servers have the file open.
class DatasetCreator {
 public:
  DatasetCreator(const dc_host_t& host, const Group& group, const std::vector<Filter>& filters)
      : host_(host), group_(group), filters_(filters) {}

  // Creates and labels all datasets; preallocates the space of their values. Throws Failure.
  void make(const OutputFile& output, std::int64_t step, const SharedLayout& layout) const;
  // Adds attributes that are known only when the values are written; releases unused space. Throws Failure.
  void label(const OutputFile& output, const SharedLayout& layout, const std::vector<Summary>& found) const;

 private:
  void label_file(hid_t file, std::int64_t step, const SharedLayout& layout) const;
  Dataset create(hid_t file, const SharedDataset& dataset) const;
  void reserve(const OutputFile& output, const SharedLayout& layout) const;

  const dc_host_t& host_;
  Group group_;
  const std::vector<Filter>& filters_;
};

struct SharedFile {
  std::string path;
  int descriptor;  // this member's own, for reading and writing
};

class BoxWriter {
 public:
  BoxWriter(const Team& team, const std::vector<Filter>& filters) : team_(team), filters_(filters) {}

  struct Result {
    std::vector<manifest::DatasetEntry> boxes;  // those that this member wrote
    std::vector<Summary> found;                 // by dataset of the layout, of those values
  };
  // Opens the file together, writes this member's boxes of all datasets, and closes it. A member that fails to provide its values continues
  // with the others, without data, and throws at the end, as they would otherwise wait for ever.
  Result write(const SharedFile& file, const SharedLayout& layout, const dc_step_t* step);

 private:
  // The data of one write: a brick of a box of this member, or of a hole.
  struct Load {
    Box box;
    const Piece* piece = nullptr;  // nullptr: a hole
    Summary* summary = nullptr;    // of the piece
  };

  void write_dataset(hid_t file, const SharedDataset& dataset, const dc_step_t* step, Result& result, Summary& found);
  void write_pieces(hid_t file, const SharedDataset& dataset, const std::vector<Piece>& pieces, Result& result, Summary& found);
  std::vector<Box> bricks_of(const SharedDataset& dataset, const std::vector<Box>& boxes) const;
  std::vector<Box> all_bricks(const SharedDataset& dataset, int member) const;
  bool is_collective(const SharedDataset& dataset) const;
  std::size_t rounds_of(const SharedDataset& dataset) const;
  std::vector<Load> loads_of(const SharedDataset& dataset, const std::vector<Piece>& pieces, std::vector<Summary>& summaries) const;
  const void* values_of(const Load& load, const SharedDataset& dataset);
  const void* filling(const Load& load, const SharedDataset& dataset);
  void put(const SharedDataset& dataset, const Dataset& open, const Load* load, bool collective);
  template <class Step>
  void attempt(Step&& step);

  const Team& team_;
  const std::vector<Filter>& filters_;
  Brick brick_;
  std::exception_ptr failure_;  // the first of this write
};

}  // namespace damaris::hdf5
