#include "reduce/fields.hpp"

#include <hdf5.h>

#include <cmath>
#include <random>

#include "core/base/error.hpp"

namespace damaris::bench {
namespace {

hid_t opened(hid_t id, const std::string& what) {
  if (id < 0) throw Error(DC_E_IO, "cannot read " + what + "; give --fields an HDF5 file with groups of 3D float32 datasets");
  return id;
}

std::vector<std::string> names_in(hid_t group) {
  H5G_info_t info;
  H5Gget_info(group, &info);
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    char name[256];
    H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
    names.emplace_back(name);
  }
  return names;
}

Field cut(const std::string& name, const std::vector<float>& whole, const hsize_t extents[3]) {
  Field field{name, 4, {extents[0], extents[1] / 2, extents[2] / 2}, {}};
  const std::uint64_t ny = field.shape[1], nx = field.shape[2];
  for (std::uint64_t tile = 0; tile < 4; ++tile)
    for (std::uint64_t z = 0; z < extents[0]; ++z)
      for (std::uint64_t y = 0; y < ny; ++y) {
        const auto row =
            whole.begin() + static_cast<std::ptrdiff_t>((z * extents[1] + tile / 2 * ny + y) * extents[2] + tile % 2 * nx);
        field.values.insert(field.values.end(), row, row + static_cast<std::ptrdiff_t>(nx));
      }
  return field;
}

Field read_field(hid_t group, const std::string& name) {
  const hid_t dataset = opened(H5Dopen2(group, name.c_str(), H5P_DEFAULT), "dataset " + name);
  const hid_t space = H5Dget_space(dataset);
  hsize_t extents[3] = {0, 0, 0};
  if (H5Sget_simple_extent_ndims(space) != 3) opened(-1, "dataset " + name + ", which is not 3D");
  H5Sget_simple_extent_dims(space, extents, nullptr);
  std::vector<float> whole(extents[0] * extents[1] * extents[2]);
  opened(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, whole.data()), "dataset " + name);
  H5Sclose(space);
  H5Dclose(dataset);
  return cut(name, whole, extents);
}

// Noise on a lattice of `cells` a side, between its points blended smoothly, added to the 128^3 values.
void add_octave(std::vector<float>& values, unsigned cells, double amplitude, std::mt19937& random) {
  constexpr unsigned kSide = 128;
  std::normal_distribution<double> normal;
  std::vector<double> lattice(cells * cells * cells);
  for (double& point : lattice) point = amplitude * normal(random);
  const auto at = [&](unsigned z, unsigned y, unsigned x) { return lattice[(z % cells * cells + y % cells) * cells + x % cells]; };
  const double step = static_cast<double>(cells) / kSide;
  const auto blend = [](double t) { return t * t * t * (t * (6 * t - 15) + 10); };
  const auto mix = [](double a, double b, double t) { return a + (b - a) * t; };
  for (unsigned z = 0, i = 0; z < kSide; ++z)
    for (unsigned y = 0; y < kSide; ++y)
      for (unsigned x = 0; x < kSide; ++x, ++i) {
        const auto k = static_cast<unsigned>(z * step), l = static_cast<unsigned>(y * step), m = static_cast<unsigned>(x * step);
        const double c = blend(z * step - k), b = blend(y * step - l), a = blend(x * step - m);
        const double low = mix(mix(at(k, l, m), at(k, l, m + 1), a), mix(at(k, l + 1, m), at(k, l + 1, m + 1), a), b);
        const double high =
            mix(mix(at(k + 1, l, m), at(k + 1, l, m + 1), a), mix(at(k + 1, l + 1, m), at(k + 1, l + 1, m + 1), a), b);
        values[i] += static_cast<float>(mix(low, high, c));
      }
}

Field generated(const std::string& name, float offset, unsigned seed) {
  Field field{name, 8, {16, 128, 128}, std::vector<float>(128 * 128 * 128, 0.0f)};
  std::mt19937 random(seed);
  for (unsigned cells = 2; cells <= 64; cells *= 2) add_octave(field.values, cells, std::pow(cells, -1.0 / 3), random);
  for (float& value : field.values) value += offset;
  return field;
}

}  // namespace

std::vector<FieldSet> read_fields(const std::string& path) {
  const hid_t file = opened(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path);
  std::vector<FieldSet> sets;
  for (const std::string& group_name : names_in(file)) {
    const hid_t group = opened(H5Gopen2(file, group_name.c_str(), H5P_DEFAULT), "group " + group_name);
    sets.push_back({group_name, {}});
    for (const std::string& name : names_in(group)) sets.back().fields.push_back(read_field(group, name));
    H5Gclose(group);
  }
  H5Fclose(file);
  return sets;
}

FieldSet turbulence() { return {"turbulence", {generated("w", 0, 1), generated("th", 300, 2)}}; }

}  // namespace damaris::bench
