// A file of several servers before and after they fill it: groups, datasets, attributes; the values are others' work.
// Used by: the hdf5 plugin of the group's leader, on its dispatch thread.
// Before it: shared_layout.hpp, output_file.hpp. After it: box_writer.hpp fills it, label() adds what was found, and the file is published.
#pragma once

#include <optional>
#include <vector>

#include "../write/fill.hpp"
#include "agreement.hpp"
#include "core/base/output_file.hpp"
#include "shared_layout.hpp"

namespace damaris::hdf5 {

// Whether it has chunks, which all members must write together.
bool is_chunked(const SharedDataset& dataset, const std::vector<Filter>& filters);
// Of a chunked dataset.
Extents chunk_of(const SharedDataset& dataset);

// What the members found in the values of a dataset.
struct Found {
  std::optional<double> min, max;
  std::optional<double> largest_error;
};
void merge(Found& into, const Found& other);

// Made by one server alone: so whatever the storage refuses is known before the others begin, and HDF5 never meets a storage that
// fails while several servers have the file open, which it does not survive.
class DatasetCreator {
 public:
  DatasetCreator(const dc_host_t& host, const Group& group, const std::vector<Filter>& filters)
      : host_(host), group_(group), filters_(filters) {}

  // Creates all datasets and labels them; asks the file system for the room that their values need. Throws Failure.
  void make(const OutputFile& output, std::int64_t step, const SharedLayout& layout) const;
  // Adds what is known only when the values are written; gives back room that they did not need. Throws Failure.
  void label(const OutputFile& output, const SharedLayout& layout, const std::vector<Found>& found) const;

 private:
  void label_file(hid_t file, std::int64_t step, const SharedLayout& layout) const;
  Dataset create(hid_t file, const SharedDataset& dataset) const;
  void reserve(const OutputFile& output, const SharedLayout& layout) const;

  const dc_host_t& host_;
  Group group_;
  const std::vector<Filter>& filters_;
};

}  // namespace damaris::hdf5
