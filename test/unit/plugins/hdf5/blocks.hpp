// Variables and blocks made by hand, and the step view a storage plugin gets of them.
// Used by: tests of the hdf5 plugin, one thread.
// Before it: the test. After it: RunningPlugin::on_step.
#pragma once

#include <damaris/plugin.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace damaris::test {

using Numbers = std::vector<std::int64_t>;

inline std::uint64_t bytes_of(dc_type type) {
  switch (type) {
    case DC_INT16:
    case DC_UINT16:
      return 2;
    case DC_INT32:
    case DC_UINT32:
    case DC_FLOAT32:
      return 4;
    case DC_INT64:
    case DC_UINT64:
    case DC_FLOAT64:
      return 8;
    default:
      return 1;
  }
}

// What the XML says of one variable. `path` must outlive it; the name is what follows the last '/'.
inline dc_variable_info_t variable_info(std::uint32_t id, const char* path, dc_type type, int ndims) {
  dc_variable_info_t info = {};
  info.id = id;
  info.path = path;
  const char* slash = std::strrchr(path, '/');
  info.name = slash == nullptr ? path : slash + 1;
  info.layout = "scalar";
  info.unit = "";
  info.description = "";
  info.type = type;
  info.element_bytes = bytes_of(type);
  info.type_name = "type";
  info.reduce = "";
  info.ndims = ndims;
  return info;
}

// One step; keeps the data of its blocks.
class Blocks {
 public:
  explicit Blocks(std::int64_t step) { view_.step = step; }

  // A block refers to its variable.
  template <class... More>
  dc_dataset_t& add(dc_variable_info_t&&, More&&...) = delete;
  // Adds a block of the given extents (ghost zones included) with these bytes; the caller adds in the order of plugin.h. The
  // returned block may be changed until view() is called.
  dc_dataset_t& add(const dc_variable_info_t& variable, std::int32_t source, const Numbers& extents, const void* data,
                    std::int32_t block = 0) {
    dc_dataset_t& made = datasets_.emplace_back();
    made = {};
    made.variable = &variable;
    made.step = view_.step;
    made.source = source;
    made.block = block;
    std::copy(extents.begin(), extents.end(), made.extents);
    made.bytes = variable.element_bytes;
    for (const std::int64_t extent : extents) made.bytes *= static_cast<std::uint64_t>(extent);
    const auto* bytes = static_cast<const char*>(data);
    data_.emplace_back(bytes, bytes + made.bytes);
    made.data = data_.back().data();
    return made;
  }
  template <class Value>
  dc_dataset_t& add(const dc_variable_info_t& variable, std::int32_t source, const Numbers& extents,
                    const std::vector<Value>& values, std::int32_t block = 0) {
    return add(variable, source, extents, values.data(), block);
  }

  dc_step_t& view() {
    flat_.assign(datasets_.begin(), datasets_.end());
    view_.complete = 1;
    view_.datasets = flat_.data();
    view_.dataset_count = flat_.size();
    view_.client_count = 4;
    return view_;
  }

 private:
  std::deque<dc_dataset_t> datasets_;  // references stay valid
  std::deque<std::vector<char>> data_;
  std::vector<dc_dataset_t> flat_;
  dc_step_t view_ = {};
};

inline void place(dc_dataset_t& block, const Numbers& position) {
  block.has_position = 1;
  std::copy(position.begin(), position.end(), block.position);
}

inline void ghost(dc_dataset_t& block, const Numbers& low, const Numbers& high) {
  std::copy(low.begin(), low.end(), block.ghost_low);
  std::copy(high.begin(), high.end(), block.ghost_high);
}

}  // namespace damaris::test
