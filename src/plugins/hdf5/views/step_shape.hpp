// What a step has of each variable, without its parts: those that fit together count as one. Equal for most steps, and then in memory once.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: followed_run.hpp. After it: global_view.hpp; step_parts.hpp has the parts. Plain structs, no HDF5.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manifest/entries.hpp"

namespace damaris::hdf5 {

struct StoredArray {
  manifest::DatasetEntry dataset;  // without path and sizes
  std::string file;                // its file, or of several parts that which decides: up to the step's number if that follows
  bool is_numbered = false;        // the step's number and ".h5" follow
};
bool operator==(const StoredArray& a, const StoredArray& b);

// The name of its file.
std::string file_of(const StoredArray& array, std::int64_t step);
// The elements that the array of one step shows: those of its parts, and the declared ones.
Box shown_box(const StoredArray& array);

// By variable: one if its parts fit together, else enough of them to tell why not.
using StoredArrays = std::map<std::string, std::vector<StoredArray>>;

struct StepShape {
  bool complete = true;
  std::optional<double> time;
  std::shared_ptr<const manifest::Declarations> declared;
  std::shared_ptr<const StoredArrays> arrays;
};
using StepShapes = std::map<std::int64_t, StepShape>;

StoredArrays stored_arrays(const manifest::StepEntry& step, const dc_host_t& host);

// The same, from an equal one given before if there is one among the last few.
class SharedShapes {
 public:
  std::shared_ptr<const StoredArrays> share(StoredArrays&& arrays);

 private:
  std::vector<std::weak_ptr<const StoredArrays>> last_;
  std::size_t next_ = 0;
};

}  // namespace damaris::hdf5
