// Creates the groups, datasets and attributes of a shared file, and completes it after the servers have written the values.
// Used by: the hdf5 plugin of the group's leader, on its work thread.
// Before it: shared_layout.hpp, output_file.hpp. After it: box_writer.hpp fills it, label() adds ranges and errors, and the file is published.
#pragma once

#include <optional>
#include <vector>

#include "../write/fill.hpp"
#include "agreement.hpp"
#include "core/base/output_file.hpp"
#include "shared_layout.hpp"

namespace damaris::hdf5 {

// Whether the dataset has chunks, which all members must write collectively.
bool is_chunked(const SharedDataset& dataset, const std::vector<Filter>& filters);
// Of a chunked dataset.
Extents chunk_of(const SharedDataset& dataset);

// Properties of a dataset's values, computed by the members.
struct Found {
  std::optional<double> min, max;
  std::optional<double> largest_error;
};
void merge(Found& into, const Found& other);

// One server alone creates the file, so that a refusal of the file system is detected before the others begin: HDF5 does not survive a
// write error while several servers have the file open.
class DatasetCreator {
 public:
  DatasetCreator(const dc_host_t& host, const Group& group, const std::vector<Filter>& filters)
      : host_(host), group_(group), filters_(filters) {}

  // Creates and labels all datasets; preallocates the space of their values. Throws Failure.
  void make(const OutputFile& output, std::int64_t step, const SharedLayout& layout) const;
  // Adds attributes that are known only when the values are written; releases unused space. Throws Failure.
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
