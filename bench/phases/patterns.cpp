#include <array>

#include "phases/fields.hpp"
#include "phases/hdf5_handle.hpp"

namespace damaris::bench {
namespace {

std::vector<std::string> names_in(hid_t group) {
  H5G_info_t info;
  need(H5Gget_info(group, &info), "list a group");
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    std::array<char, 256> name = {};
    need(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(), H5P_DEFAULT), "list a group");
    names.emplace_back(name.data());
  }
  return names;
}

Pattern read_pattern(hid_t group, const std::string& name) {
  const Handle dataset(H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, "open dataset " + name);
  const Handle space(H5Dget_space(dataset), H5Sclose, "look at dataset " + name);
  std::array<hsize_t, 3> extents = {};
  if (H5Sget_simple_extent_ndims(space) != 3 || H5Sget_simple_extent_npoints(space) <= 0)
    throw Error(DC_E_IO, "dataset " + name + " has not three dimensions; give --fields a file with groups of 3D float32 datasets");
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  Pattern pattern{extents[0], extents[1], extents[2], std::vector<float>(extents[0] * extents[1] * extents[2])};
  need(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, pattern.values.data()), "read dataset " + name);
  return pattern;
}

}  // namespace

std::vector<std::vector<Pattern>> read_patterns(const std::string& file) {
  const Handle opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open " + file);
  std::vector<std::vector<Pattern>> groups;
  for (const std::string& group_name : names_in(opened)) {
    const Handle group(H5Gopen2(opened, group_name.c_str(), H5P_DEFAULT), H5Gclose, "open group " + group_name + " of " + file);
    std::vector<Pattern> patterns;
    for (const std::string& name : names_in(group)) patterns.push_back(read_pattern(group, name));
    if (!patterns.empty()) groups.push_back(std::move(patterns));
  }
  if (groups.empty()) throw Error(DC_E_IO, file + " has no group with datasets; give --fields a file that has");
  return groups;
}

}  // namespace damaris::bench
