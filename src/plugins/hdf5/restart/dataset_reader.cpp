#include "dataset_reader.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../file/handle.hpp"
#include "../file/new_dataset.hpp"
#include "compressed_chunks.hpp"
#include "stored_layout.hpp"

namespace damaris::hdf5 {
namespace {

bool equal(hid_t a, hid_t b) { return checked(H5Tequal(a, b), "compare types") > 0; }

// Whether the members have the same names and types, at any offset: HDF5 moves them.
bool same_members(hid_t stored, hid_t wanted) {
  const int count = H5Tget_nmembers(wanted);
  if (H5Tget_nmembers(stored) != count) return false;
  for (int i = 0; i < count; ++i) {
    char* name = H5Tget_member_name(wanted, static_cast<unsigned>(i));
    const int there = H5Tget_member_index(stored, name);
    H5free_memory(name);
    if (there < 0) return false;
    const Type one(H5Tget_member_type(wanted, static_cast<unsigned>(i)), "inspect a member");
    const Type other(H5Tget_member_type(stored, static_cast<unsigned>(there)), "inspect a member");
    if (!equal(one.id(), other.id())) return false;
  }
  return true;
}

bool is_real(dc_type type) { return type == DC_FLOAT32 || type == DC_FLOAT64; }

// Whether the dataset has 16-bit numbers that represent the variable's reals.
bool is_quantized(const Type& stored, const dc_variable_info_t& variable) {
  return is_real(variable.type) && H5Tget_size(stored.id()) == 2 && H5Tget_class(stored.id()) == H5T_FLOAT;
}

void check_type(const Type& stored, const Type& wanted, const dc_variable_info_t& variable, const std::string& path) {
  if (is_quantized(stored, variable) || equal(stored.id(), wanted.id())) return;
  const bool compounds = H5Tget_class(stored.id()) == H5T_COMPOUND && H5Tget_class(wanted.id()) == H5T_COMPOUND;
  if (compounds && same_members(stored.id(), wanted.id())) return;
  throw Error(DC_E_TYPE, "the dataset '" + path + "' has another element type than '" + variable.type_name +
                             "' in the XML; give the layout the type that it had in that run");
}

void check_extents(const Space& space, const manifest::DatasetEntry& dataset) {
  Sizes stored = {};
  const bool same_rank = H5Sget_simple_extent_ndims(space.id()) == dataset.box.ndims;
  if (same_rank) H5Sget_simple_extent_dims(space.id(), stored.data(), nullptr);
  bool fits = same_rank && (dataset.start || stored == sizes_of(dataset.box));
  for (std::size_t d = 0; fits && dataset.start && d < dataset.start->size(); ++d)
    fits = dataset.start->at(d) + dataset.box.extent(static_cast<int>(d)) <= static_cast<std::int64_t>(stored[d]);
  if (!fits)
    throw Error(DC_E_IO,
                "the dataset '" + dataset.path + "' has other extents than in the manifest of the run: one of them is damaged");
}

// The file's dataset in the coordinates of the box.
Box frame_of(const manifest::DatasetEntry& dataset) {
  Box frame = dataset.box;
  if (dataset.start)
    for (int d = 0; d < frame.ndims; ++d) frame.low[d] -= dataset.start->at(static_cast<std::size_t>(d));
  return frame;
}

void select(const Space& space, const Box& frame, const Box& box) {
  if (box.ndims == 0) return;
  Sizes start = {};
  for (int d = 0; d < box.ndims; ++d) start[d] = static_cast<hsize_t>(box.low[d] - frame.low[d]);
  checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, sizes_of(box).data(), nullptr), "select a part");
}

// Translates `box` from the coordinates of `from` to those of `to`.
Box moved(Box box, const Box& from, const Box& to) {
  for (int d = 0; d < box.ndims; ++d) {
    box.low[d] += to.low[d] - from.low[d];
    box.high[d] += to.low[d] - from.low[d];
  }
  return box;
}

// Dequantizes in double precision, in which the largest error was measured. Non-finite values are unchanged, and finite ones are clamped to
// T: an earlier version quantized some that would round to infinity.
template <class T>
void dequantize(std::byte* values, std::size_t count, const manifest::DatasetEntry& dataset) {
  const double scale = dataset.scale.value_or(1), offset = dataset.offset.value_or(0);
  auto* reals = reinterpret_cast<T*>(values);
  constexpr double kMost = std::numeric_limits<T>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(reals[i]) * scale + offset;
    reals[i] = static_cast<T>(std::isfinite(reals[i]) ? std::clamp(value, -kMost, kMost) : value);
  }
}

// Converts like H5Dread.
void convert(const Type& stored, const Type& wanted, std::size_t count, std::vector<std::byte>& values) {
  std::vector<std::byte> background;  // supplies members that the stored compound lacks
  if (H5Tget_class(wanted.id()) == H5T_COMPOUND) background.resize(count * H5Tget_size(wanted.id()));
  checked(H5Tconvert(stored.id(), wanted.id(), count, values.data(), background.data(), H5P_DEFAULT), "convert values");
}

}  // namespace

DatasetReader::DatasetReader(const std::string& path) : file_(open_stored(path)) {}

void DatasetReader::read(const manifest::StoredPart& part, const dc_variable_info_t& variable, const Array& to) const {
  const std::string& path = part.dataset->path;
  const Dataset dataset = open_dataset(file_, path);
  const Type stored(H5Dget_type(dataset.id()), "get the type of", path), wanted = type_of(variable);
  check_type(stored, wanted, variable, path);
  const Space file(H5Dget_space(dataset.id()), "get the extents of", path);
  check_extents(file, *part.dataset);
  const auto put = [&](std::byte* values, const Box& box) {
    const auto count = static_cast<std::size_t>(volume(box));
    if (is_quantized(stored, variable))
      variable.type == DC_FLOAT32 ? dequantize<float>(values, count, *part.dataset)
                                  : dequantize<double>(values, count, *part.dataset);
    copy_region(to, {values, box}, box, variable.element_bytes);
  };
  if (const StoredLayout layout = layout_of(dataset, path); layout.has_filters()) {
    const Box frame = frame_of(*part.dataset);
    CompressedChunks chunks(dataset, layout, path);
    std::vector<std::byte> values;
    chunks.for_each_part(moved(part.box, frame, layout.whole), [&](const Box& box) {
      const auto count = static_cast<std::size_t>(volume(box));
      values.resize(count * std::max(layout.element_bytes, H5Tget_size(wanted.id())));
      std::memcpy(values.data(), chunks.read(box), count * layout.element_bytes);
      convert(stored, wanted, count, values);
      put(values.data(), moved(box, layout.whole, frame));
    });
    return;
  }
  select(file, frame_of(*part.dataset), part.box);
  if (!is_quantized(stored, variable)) {
    const Space memory = space_of(to.box);
    select(memory, to.box, part.box);
    checked(H5Dread(dataset.id(), wanted.id(), memory.id(), file.id(), H5P_DEFAULT, to.data), "read the dataset", path);
    return;
  }
  std::vector<std::byte> values(static_cast<std::size_t>(volume(part.box)) * variable.element_bytes);
  checked(H5Dread(dataset.id(), wanted.id(), space_of(part.box).id(), file.id(), H5P_DEFAULT, values.data()), "read the dataset",
          path);
  put(values.data(), part.box);
}

}  // namespace damaris::hdf5
