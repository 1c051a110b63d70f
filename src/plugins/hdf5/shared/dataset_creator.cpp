#include "dataset_creator.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "../file/new_dataset.hpp"
#include "../layout/memory.hpp"
#include "../write/fill.hpp"
#include "../write/labels.hpp"

namespace damaris::hdf5 {
namespace {

constexpr std::uint64_t kMetadataBytes = std::uint64_t{1} << 16;  // for the chunk index and other metadata that HDF5 may add

void set_filters(const Properties& properties, const dc_variable_info_t& variable, const std::vector<Filter>& filters) {
  const bool reduced = variable.reduction.precision != DC_EXACT;
  if (variable.reduction.codec != DC_CODEC_DEFLATE) return reduced ? void() : add_filters(properties, filters);
  checked(H5Pset_shuffle(properties.id()), "set the shuffle filter");
  const auto level = static_cast<unsigned>(std::min(variable.reduction.level, 9));
  checked(H5Pset_deflate(properties.id(), level), "set the deflate filter");
}

void label_parts(hid_t dataset, const SharedDataset& shared) {
  PartsTable table(shared.whole.ndims);
  for (const SharedPart& part : shared.parts) table.add(part.source, part.block, part.box);
  table.label(dataset);
}

void label_dataset(hid_t dataset, const SharedDataset& shared, std::int64_t step, const SharedLayout& layout) {
  label_variable(dataset, *shared.variable);
  label_step(dataset, step, layout.time);
  const std::int64_t* low = shared.whole.low.data();
  if (shared.has_position) write_attribute(dataset, "position", std::vector<std::int64_t>(low, low + shared.whole.ndims));
  if (!shared.global.empty()) write_attribute(dataset, "global_extents", shared.global);
  if (!shared.holes.empty()) label_fill(dataset, *shared.variable);
  if (shared.joined) return label_parts(dataset, shared);
  write_attribute(dataset, "source", shared.parts.front().source);
  write_attribute(dataset, "block", shared.parts.front().block);
}

void label_found(hid_t dataset, const dc_variable_info_t& variable, const Found& found) {
  if (found.min) write_attribute(dataset, "value_range", std::vector<double>{*found.min, *found.max});
  if (!found.largest_error) return;
  const bool relative = variable.reduction.precision == DC_ROUND_RELATIVE;
  write_attribute(dataset, relative ? "largest_relative_error" : "largest_error", *found.largest_error);
}

Piece piece_of(const SharedDataset& one) { return {one.path, one.variable, one.joined, one.has_position, one.whole, {}}; }

// If space cannot be reserved: detects at least a file system that is already full.
void check_free_space(const OutputFile& output, const struct stat& facts, std::uint64_t bytes) {
  constexpr std::uint64_t kStatBlock = 512;
  struct statvfs disk = {};
  if (::fstatvfs(output.descriptor(), &disk) != 0) return;
  const std::uint64_t there = static_cast<std::uint64_t>(facts.st_blocks) * kStatBlock, room = disk.f_bavail * disk.f_frsize;
  if (bytes > there + room) throw_system_failure(ENOSPC, "find space for", output.temporary_path());
}

void take_lower(std::optional<double>& into, const std::optional<double>& other) {
  if (other && (!into || *other < *into)) into = other;
}
void take_higher(std::optional<double>& into, const std::optional<double>& other) {
  if (other && (!into || *other > *into)) into = other;
}

}  // namespace

void merge(Found& into, const Found& other) {
  take_lower(into.min, other.min);
  take_higher(into.max, other.max);
  take_higher(into.largest_error, other.largest_error);
}

bool is_chunked(const SharedDataset& dataset, const std::vector<Filter>& filters) {
  const dc_reduction_t& asked = dataset.variable->reduction;
  const bool reduced = asked.precision != DC_EXACT || asked.codec != DC_CODEC_NONE;
  const bool wanted = reduced ? asked.codec == DC_CODEC_DEFLATE : !filters.empty();
  return (wanted || has_own_chunk(piece_of(dataset))) && dataset.whole.ndims > 0 && volume(dataset.whole) > 0;
}

Extents chunk_of(const SharedDataset& dataset) { return chunk_of(piece_of(dataset)); }

void DatasetCreator::make(const OutputFile& output, std::int64_t step, const SharedLayout& layout) const {
  Hdf5File file(output.descriptor(), output.temporary_path(), Hdf5File::Mode::create);
  label_file(file.id(), step, layout);
  for (const SharedDataset& one : layout.datasets) {
    Dataset dataset = create(file.id(), one);
    label_dataset(dataset.id(), one, step, layout);
    dataset.close("write the dataset", one.path);
    file.check();
  }
  file.close();
  reserve(output, layout);
}

void DatasetCreator::label_file(hid_t file, std::int64_t step, const SharedLayout& layout) const {
  label_writer(file, host_);
  label_step(file, step, layout.time);
  std::vector<std::int32_t> writers;
  for (int server = group_.first; server < group_.first + group_.size; ++server) writers.push_back(server);
  write_attribute(file, "writers", writers);
  write_attribute(file, "clients", layout.clients);
  write_attribute(file, "absent_clients", layout.absent);
  write_attribute(file, "missing_clients", layout.missing);
  write_attribute(file, "never_attached", layout.never_attached);
}

// Holes of contiguous datasets are written like values; HDF5 fills chunks when all servers open the file.
Dataset DatasetCreator::create(hid_t file, const SharedDataset& one) const {
  const Properties properties = dataset_properties();
  const Piece piece = piece_of(one);
  if (!one.holes.empty()) set_fill(properties, *one.variable);
  if (is_chunked(one, filters_)) {
    set_chunk(properties, piece, chunk_of(one));
    set_filters(properties, *one.variable, filters_);
    checked(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_ALLOC), "set the fill time");
  } else {
    checked(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "set the time of allocation");
  }
  Dataset dataset = create_dataset(file, piece, type_of(*one.variable), properties, link_properties());
  const dc_reduction_t& asked = one.variable->reduction;
  if (asked.precision == DC_EXACT) return dataset;
  write_attribute(dataset.id(), "reduce", std::string(one.variable->reduce));
  write_attribute(dataset.id(), "error_bound", asked.bound);
  return dataset;
}

// Contiguous datasets are already within the file, as holes; chunks follow. File systems that cannot reserve space do without.
void DatasetCreator::reserve(const OutputFile& output, const SharedLayout& layout) const {
  struct stat facts = {};
  if (::fstat(output.descriptor(), &facts) != 0) throw_system_failure(errno, "stat", output.temporary_path());
  std::uint64_t bytes = static_cast<std::uint64_t>(facts.st_size);
  for (const SharedDataset& one : layout.datasets)
    if (is_chunked(one, filters_))
      bytes += static_cast<std::uint64_t>(volume(one.whole)) * one.variable->element_bytes + kMetadataBytes;
  int error = 0;
  while (::fallocate(output.descriptor(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 && (error = errno) == EINTR) {
  }
  if (error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG)
    throw_system_failure(error, "reserve space for", output.temporary_path());
  if (error != 0 && error != EINTR) check_free_space(output, facts, bytes);
}

void DatasetCreator::label(const OutputFile& output, const SharedLayout& layout, const std::vector<Found>& found) const {
  Hdf5File file(output.descriptor(), output.temporary_path(), Hdf5File::Mode::open);
  for (std::size_t i = 0; i < layout.datasets.size(); ++i) {
    const std::string& path = layout.datasets[i].path;
    const Dataset dataset(H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), "open the dataset", path);
    label_found(dataset.id(), *layout.datasets[i].variable, found[i]);
  }
  file.close();
}

}  // namespace damaris::hdf5
