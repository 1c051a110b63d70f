// Creates the groups, datasets and attributes of a shared file, and completes it after the servers have written the values.
// Used by: the hdf5 plugin of the group's leader, on its work thread.
// Before it: storage_plan.hpp, hdf5_file.hpp. After it: chunk_store.hpp and box_writer.hpp, which fill it; label() adds ranges and errors.
#pragma once

#include <optional>
#include <vector>

#include "../file/hdf5_file.hpp"
#include "agreement.hpp"
#include "core/base/output_file.hpp"
#include "shared_layout.hpp"

namespace damaris::hdf5 {

// The type of its values in the file.
Type stored_type_of(const SharedDataset& dataset);

// Properties of the values of a contiguous dataset, computed by the members.
struct Found {
  std::optional<double> min, max;
  std::optional<double> largest_error;
};
void merge(Found& into, const Found& other);

// One server alone creates the file, so that a refusal of the file system is detected before the others begin: HDF5 does not survive a
// write error while several servers have the file open.
class DatasetCreator {
 public:
  DatasetCreator(const dc_host_t& host, const Group& group) : host_(host), group_(group) {}

  // Creates and labels all datasets. Throws Failure.
  void make(const Hdf5File& file, std::int64_t step, const SharedLayout& layout) const;
  // Reserves space for the values of contiguous datasets in the file, which is closed. Throws Failure.
  static void reserve(const OutputFile& output);
  // Adds attributes of contiguous datasets that are known only when the values are written. Throws Failure.
  static void label(const OutputFile& output, const SharedLayout& layout, const std::vector<Found>& found);

 private:
  void label_file(hid_t file, std::int64_t step, const SharedLayout& layout) const;
  static Dataset create(const Hdf5File& file, const SharedDataset& dataset);

  const dc_host_t& host_;
  Group group_;
};

}  // namespace damaris::hdf5
