#include "phases/field_file.hpp"

#include <algorithm>
#include <array>

namespace damaris::bench {
namespace {

using Extents = std::array<hsize_t, 3>;

Handle space_of(const Extents& extents) { return {H5Screate_simple(3, extents.data(), nullptr), H5Sclose, "make a data space"}; }

void put_position(hid_t dataset, const Slab& whole) {
  const std::array<std::int64_t, 3> position = {0, static_cast<std::int64_t>(whole.first), 0};
  const hsize_t length = position.size();
  const Handle space(H5Screate_simple(1, &length, nullptr), H5Sclose, "make a data space");
  const Handle attribute(H5Acreate2(dataset, "position", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "make an attribute");
  need(H5Awrite(attribute, H5T_NATIVE_INT64, position.data()), "write an attribute");
}

}  // namespace

std::uint64_t levels_in(const Grid& grid, std::uint64_t rows, std::uint64_t bytes) {
  if (bytes == 0) return grid.levels;
  return std::clamp<std::uint64_t>(bytes / (rows * grid.columns * sizeof(float)), 1, grid.levels);
}

FieldFile::FieldFile(const std::string& path, const Grid& grid, Slab whole, const Writing& writing)
    : path_(path),
      grid_(grid),
      whole_(whole),
      writing_(writing),
      file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, writing.file_access), H5Fclose, "create " + path) {}

void FieldFile::write(int field, const std::vector<Piece>& pieces) {
  const Handle dataset = make_dataset(field);
  put_position(dataset, whole_);
  for (const Piece& piece : pieces) write_piece(dataset, piece);
}

void FieldFile::close() { file_.close("close " + path_); }

Handle FieldFile::make_dataset(int field) const {
  const Handle space = space_of({grid_.levels, whole_.count, grid_.columns});
  const Handle creation = property_list(H5P_DATASET_CREATE);
  if (writing_.levels_per_chunk != 0) {
    const Extents chunk = {writing_.levels_per_chunk, whole_.count, grid_.columns};
    need(H5Pset_chunk(creation, 3, chunk.data()), "cut chunks");
    need(H5Pset_shuffle(creation), "shuffle");
    need(H5Pset_deflate(creation, 1), "deflate");
  }
  const std::string name = "field" + std::to_string(field);
  return {H5Dcreate2(file_, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose,
          "make dataset " + name + " of " + path_};
}

void FieldFile::write_piece(hid_t dataset, const Piece& piece) const {
  const Handle in_file = space_of({grid_.levels, whole_.count, grid_.columns});
  for (std::uint64_t level = 0; level < grid_.levels; level += writing_.levels_per_call) {
    const Extents count = {std::min(writing_.levels_per_call, grid_.levels - level), piece.slab.count, grid_.columns};
    const Extents start = {level, piece.slab.first - whole_.first, 0};
    need(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "choose a part of " + path_);
    const Handle in_memory = space_of(count);
    need(H5Dwrite(dataset, H5T_NATIVE_FLOAT, in_memory, in_file, writing_.dataset_transfer,
                  piece.values + level * piece.slab.count * grid_.columns),
         "write " + path_);
  }
}

}  // namespace damaris::bench
