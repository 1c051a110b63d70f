// Checks whether the parts of a variable have a common type, scale and offset, as a single array requires.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: the manifest's entry of each part. After it: global_view.hpp. Plain structs, no HDF5.
#pragma once

#include <optional>
#include <string>

#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// A part without elements has no constraints, one without finite values fits any scale and offset, and one of zeros any scale.
class CommonScaling {
 public:
  // Both belong to the manifest, which must outlive this object.
  void add(const manifest::FileEntry& file, const manifest::DatasetEntry& dataset);

  // A clause with the reason why there is no common scaling; "" if there is one.
  const std::string& obstacle() const { return obstacle_; }
  // The common values; none if the parts are not of 16 bits.
  std::optional<double> scale() const { return part_ == nullptr ? std::nullopt : part_->scale; }
  std::optional<double> offset() const { return part_ == nullptr ? std::nullopt : part_->offset; }

 private:
  const manifest::FileEntry* file_ = nullptr;
  const manifest::DatasetEntry* part_ = nullptr;  // the most restrictive one
  std::string obstacle_;
};

}  // namespace damaris::hdf5
