#include "reduce/chunk_file.hpp"

#include <cstring>
#include <vector>

#include "core/base/error.hpp"

namespace damaris::bench {
namespace {

template <class Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) throw Error(DC_E_IO, "HDF5 could not " + what + "; is there room in the folder of --folder?");
  return result;
}

// An IEEE half for files, as users of HDF5 without such a type make it.
hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

hid_t type_of(std::size_t size) { return size == 2 ? half_type() : H5Tcopy(H5T_IEEE_F32LE); }

}  // namespace

ChunkFile::ChunkFile(const std::string& path)
    : file_(checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "create " + path)) {}

ChunkFile::~ChunkFile() { H5Fclose(file_); }

hid_t ChunkFile::create(const Tiles& tiles) {
  const hsize_t extents[3] = {tiles.tiles * tiles.shape[0], tiles.shape[1], tiles.shape[2]};
  const hsize_t chunk[3] = {tiles.shape[0], tiles.shape[1], tiles.shape[2]};
  const hid_t space = H5Screate_simple(3, extents, nullptr), type = type_of(tiles.size), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 3, chunk);
  H5Pset_shuffle(list);
  H5Pset_deflate(list, 1);
  H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
  const hid_t dataset = H5Dcreate2(file_, tiles.name.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  H5Pclose(list);
  H5Tclose(type);
  H5Sclose(space);
  return checked(dataset, "create dataset " + tiles.name);
}

std::uint64_t ChunkFile::write_whole(const Tiles& tiles, hid_t memory_type, const void* data) {
  const hid_t dataset = create(tiles);
  checked(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write " + tiles.name);
  const std::uint64_t stored = H5Dget_storage_size(dataset);
  checked(H5Dclose(dataset), "close " + tiles.name);
  return stored;
}

std::uint64_t ChunkFile::write_filtered(const Tiles& tiles) {
  const hid_t type = type_of(tiles.size);
  const std::uint64_t stored = write_whole(tiles, type, tiles.data);
  H5Tclose(type);
  return stored;
}

std::uint64_t ChunkFile::write_converted(const Tiles& halves, const float* values) {
  return write_whole(halves, H5T_NATIVE_FLOAT, values);
}

std::uint64_t ChunkFile::write_encoded(const Tiles& tiles, codec::Encoder& encoder) {
  const hid_t dataset = create(tiles);
  const std::uint64_t values = tiles.tile_bytes() / tiles.size;
  for (std::uint64_t tile = 0; tile < tiles.tiles; ++tile) {
    const char* data = static_cast<const char*>(tiles.data) + tile * tiles.tile_bytes();
    const hsize_t offset[3] = {tile * tiles.shape[0], 0, 0};
    const codec::Encoded encoded = encoder.encode({data, values, tiles.size, tiles.shape[2]});
    const herr_t result = encoded.smaller
                              ? H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset, encoded.bytes, encoded.data)
                              : H5Dwrite_chunk(dataset, H5P_DEFAULT, codec::kSkipFilters, offset, tiles.tile_bytes(), data);
    checked(result, "write a chunk of " + tiles.name);
  }
  const std::uint64_t stored = H5Dget_storage_size(dataset);
  checked(H5Dclose(dataset), "close " + tiles.name);
  return stored;
}

void ChunkFile::compare(const Tiles& tiles) {
  const hid_t dataset = checked(H5Dopen2(file_, tiles.name.c_str(), H5P_DEFAULT), "open " + tiles.name), type = type_of(tiles.size);
  std::vector<char> read(tiles.tiles * tiles.tile_bytes());
  checked(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), "read " + tiles.name);
  H5Tclose(type);
  H5Dclose(dataset);
  if (std::memcmp(read.data(), tiles.data, read.size()) != 0)
    throw Error(DC_E_INTERNAL, "what HDF5 reads of " + tiles.name + " is not what was written; please report it");
}

}  // namespace damaris::bench
