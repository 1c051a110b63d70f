// Whether the parts of a variable have the type, the scale and the offset in common that one array of them must have.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: what the manifest says of each part. After it: global_view.hpp. Plain structs, no HDF5.
#pragma once

#include <optional>
#include <string>

#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// A part without elements has none of them, one without finite values fits every scale and offset, and one of zeros every scale.
class CommonScaling {
 public:
  // Both of the manifest, which outlives this.
  void add(const manifest::FileEntry& file, const manifest::DatasetEntry& dataset);

  // A clause that says why they have none in common; "": they have.
  const std::string& obstacle() const { return obstacle_; }
  // Of all parts together; none: they are not of 16 bits.
  std::optional<double> scale() const { return part_ == nullptr ? std::nullopt : part_->scale; }
  std::optional<double> offset() const { return part_ == nullptr ? std::nullopt : part_->offset; }

 private:
  const manifest::FileEntry* file_ = nullptr;
  const manifest::DatasetEntry* part_ = nullptr;  // the one that fits least
  std::string obstacle_;
};

}  // namespace damaris::hdf5
