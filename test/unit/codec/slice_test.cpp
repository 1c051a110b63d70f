// Real fields through the codecs into a real file, read back by HDF5 with no plugin.
#include <hdf5.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "codec/encoder.hpp"
#include "codec/rounding.hpp"

using namespace damaris::codec;

namespace {

struct Slice {
  hsize_t extents[3] = {0, 0, 0};
  std::vector<float> values;
};

Slice read_slice(const std::string& name) {
  Slice slice;
  const hid_t file = H5Fopen(TEST_SLICE, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  REQUIRE(H5Sget_simple_extent_dims(space, slice.extents, nullptr) == 3);
  slice.values.resize(slice.extents[0] * slice.extents[1] * slice.extents[2]);
  REQUIRE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, slice.values.data()) >= 0);
  H5Sclose(space), H5Dclose(dataset), H5Fclose(file);
  return slice;
}

// One dataset of one chunk in a file of its own; what HDF5 reads of it as floats.
std::vector<float> through_file(const Slice& slice, hid_t type, const Encoded& encoded) {
  const std::string path = "slice_" + std::to_string(::getpid()) + ".h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, slice.extents, nullptr);
  H5Pset_chunk(list, 3, slice.extents), H5Pset_shuffle(list), H5Pset_deflate(list, 1);
  const hid_t dataset = H5Dcreate2(file, "v", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  const hsize_t offset[3] = {0, 0, 0};
  REQUIRE(encoded.smaller);
  REQUIRE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, encoded.bytes, encoded.data) >= 0);
  H5Dclose(dataset), H5Fclose(file);
  std::vector<float> read(slice.values.size());
  const hid_t again = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), back = H5Dopen2(again, "v", H5P_DEFAULT);
  REQUIRE(H5Dread(back, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()) >= 0);
  H5Dclose(back), H5Fclose(again), H5Sclose(space), H5Pclose(list);
  std::remove(path.c_str());
  return read;
}

const std::vector<std::string> kFields = {"u", "v", "w", "thpert", "prspert", "qv", "qc", "tke"};

}  // namespace

TEST_CASE("HDF5 without any plugin reads real fields bit for bit") {
  for (const int level : {1, 6})
    for (const std::string time : {"t01800/", "t03600/"})
      for (const std::string& field : kFields) {
        INFO(time << field << " level " << level);
        const Slice slice = read_slice(time + field);
        const auto encoder = Encoder::make({Codec::kDeflate, level});
        const Encoded encoded = encoder->encode({slice.values.data(), slice.values.size(), 4, slice.extents[2]});
        REQUIRE(through_file(slice, H5T_IEEE_F32LE, encoded) == slice.values);
      }
}

TEST_CASE("HDF5 without any plugin reads 16 bits as floats, within the reported error") {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10), H5Tset_size(type, 2), H5Tset_ebias(type, 15);
  for (const std::string& field : kFields) {
    INFO(field);
    const Slice slice = read_slice("t03600/" + field);
    const Scaling scaling = scaling_for(range_of(slice.values.data(), slice.values.size()));
    std::vector<Half> halves(slice.values.size());
    const Quantized quantized = quantize(slice.values.data(), slice.values.size(), scaling, halves.data());
    REQUIRE(quantized.overflowed == 0);
    const auto encoder = Encoder::make({});
    const auto read = through_file(slice, type, encoder->encode({halves.data(), halves.size(), 2, slice.extents[2]}));
    double largest = 0;
    for (std::size_t i = 0; i < read.size(); ++i)
      largest = std::max(largest, std::fabs(slice.values[i] - (read[i] * scaling.scale + scaling.offset)));
    REQUIRE(largest == Approx(quantized.largest_error));
  }
  H5Tclose(type);
}
