// Writes what one server has of a file that several write: box by box, all servers in step where HDF5 asks for it.
// Used by: the hdf5 plugin, on the server's dispatch thread; collective over the group.
// Before it: dataset_creator.hpp made the datasets. After it: what each server wrote goes into the manifest.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "../layout/gather.hpp"
#include "dataset_creator.hpp"
#include "manifest/entries.hpp"
#include "team.hpp"

namespace damaris::hdf5 {

class BoxWriter {
 public:
  BoxWriter(const Team& team, const std::vector<Filter>& filters) : team_(team), filters_(filters) {}

  struct Result {
    std::vector<manifest::DatasetEntry> boxes;  // that this member wrote
    std::vector<Found> found;                   // by dataset of the layout
  };
  // Opens the file at `path`, writes this member's boxes of all datasets and closes it. A member whose values cannot be had goes on
  // with the others, without data, and throws at the end: else they would wait for it for ever.
  Result write(const std::string& path, const SharedLayout& layout, const dc_step_t* step);

 private:
  // What a member writes in one go: a brick of a box of its own, or of a hole.
  struct Load {
    Box box;
    const Piece* piece = nullptr;  // nullptr: a hole
    manifest::DatasetEntry* entry = nullptr;
  };
  struct BoxTarget {
    const SharedDataset& dataset;
    const Dataset& open;
    Found& found;
  };

  void write_dataset(hid_t file, const SharedDataset& dataset, const dc_step_t* step, Result& result, Found& found);
  std::vector<Box> bricks_of(const SharedDataset& dataset, const std::vector<Box>& boxes) const;
  std::vector<Box> all_bricks(const SharedDataset& dataset, int member) const;
  bool in_step(const SharedDataset& dataset) const;
  std::size_t rounds_of(const SharedDataset& dataset) const;
  std::vector<Load> loads_of(const SharedDataset& dataset, const std::vector<Piece>& pieces,
                             std::vector<manifest::DatasetEntry>& entries) const;
  const void* values_of(const Load& load, const BoxTarget& target);
  const void* rounded(const Load& load, const void* values, std::size_t count);
  const void* filling(const Load& load, const SharedDataset& dataset);
  void put(const BoxTarget& target, const Load* load, bool in_step);
  template <class Step>
  void attempt(Step&& step);

  const Team& team_;
  const std::vector<Filter>& filters_;
  Staging gathered_, changed_;
  std::exception_ptr failure_;  // the first of this write
};

}  // namespace damaris::hdf5
