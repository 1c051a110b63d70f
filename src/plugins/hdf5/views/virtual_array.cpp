#include "virtual_array.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "../write/brick_index.hpp"
#include "../write/fill.hpp"

namespace damaris::hdf5 {
namespace {

Space space_of(const std::vector<hsize_t>& extents) {
  return Space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), "make a space");
}

void select(const Space& space, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count) {
  if (start.empty()) return;
  checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select a part");
}

// The part of the source dataset that is shown. If it is larger than the box, HDF5 takes its extents from the source itself.
Space source_space(const Mapping& mapping) {
  const Box& whole = mapping.whole;
  const std::vector<std::int64_t> inside = mapping.dataset->start.value_or(std::vector<std::int64_t>(DC_MAX_DIMS, 0));
  std::vector<hsize_t> extents, start, count;
  for (int d = 0; d < whole.ndims; ++d) {
    const std::int64_t before = inside[static_cast<std::size_t>(d)];
    extents.push_back(static_cast<hsize_t>(before + whole.extent(d)));
    start.push_back(static_cast<hsize_t>(before + mapping.box.low[d] - whole.low[d]));
    count.push_back(static_cast<hsize_t>(mapping.box.extent(d)));
  }
  Space space = space_of(extents);
  select(space, start, count);
  return space;
}

// In names of source files, HDF5 replaces "%b" by a number, and "%%" by a percent sign.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char one : name) text += one == '%' ? "%%" : std::string(1, one);
  return text;
}

// `space`: that of the array, with time first, or of a coordinate.
void map(const Properties& properties, const GlobalArray& array, const Mapping& mapping, const Space& space, bool in_time) {
  std::vector<hsize_t> start, count;
  if (in_time) {
    start.push_back(mapping.time);
    count.push_back(1);
  }
  for (int d = 0; d < array.box.ndims; ++d) {
    start.push_back(static_cast<hsize_t>(mapping.box.low[d] - array.box.low[d]));
    count.push_back(static_cast<hsize_t>(mapping.box.extent(d)));
  }
  select(space, start, count);
  checked(H5Pset_virtual(properties.id(), space.id(), escaped(mapping.file->name).c_str(), escaped(mapping.dataset->path).c_str(),
                         source_space(mapping).id()),
          "map", mapping.dataset->path);
}

// False if no value can be the fill value.
bool may_hold_fill(const GlobalArray& array) {
  const dc_variable_info_t& variable = *array.variable;
  const BrickRange fill = range_of(variable.type, fill_of(variable).data(), 1);
  if (std::isnan(fill.min)) return false;
  return std::any_of(array.mappings.begin(), array.mappings.end(), [&](const Mapping& mapping) {
    const manifest::DatasetEntry& dataset = *mapping.dataset;
    return !dataset.min || (*dataset.min <= fill.max && fill.min <= *dataset.max);
  });
}

bool has_holes(const GlobalArray& array, std::size_t times) {
  std::int64_t shown = 0;
  for (const Mapping& mapping : array.mappings) shown += volume(mapping.box);
  return shown < volume(array.box) * static_cast<std::int64_t>(times);
}

Properties properties_of(const GlobalArray& array, const Space& space, const std::vector<hsize_t>& times) {
  Properties properties(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_CREATE)), "make the dataset's properties");
  checked(H5Pset_attr_phase_change(properties.id(), 64, 32), "set the attributes' form");
  checked(H5Pset_obj_track_times(properties.id(), false), "switch times off");
  if (has_fill(array, times.empty() ? 1 : times.front())) set_fill(properties, *array.variable);
  for (const Mapping& mapping : array.mappings) map(properties, array, mapping, space, !times.empty());
  checked(H5Sselect_all(space.id()), "select all");
  return properties;
}

Dataset create(hid_t file, const std::string& path, const GlobalArray& array, const std::vector<hsize_t>& times) {
  std::vector<hsize_t> extents = times;
  for (int d = 0; d < array.box.ndims; ++d) extents.push_back(static_cast<hsize_t>(array.box.extent(d)));
  const Space space = space_of(extents);
  const Type type = array.scale ? half_type() : type_of(*array.variable);
  const Properties properties = properties_of(array, space, times);
  return Dataset(H5Dcreate2(file, path.c_str(), type.id(), space.id(), link_properties().id(), properties.id(), H5P_DEFAULT),
                 "create the dataset", path);
}

}  // namespace

bool has_fill(const GlobalArray& array, std::size_t times) { return !may_hold_fill(array) || has_holes(array, times); }

Dataset create_virtual(hid_t file, const std::string& path, const GlobalArray& array, std::size_t times) {
  return create(file, path, array, {times});
}

Dataset create_virtual_coordinate(hid_t file, const std::string& path, const GlobalArray& coordinate) {
  return create(file, path, coordinate, {});
}

}  // namespace damaris::hdf5
