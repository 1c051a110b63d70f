#include "box_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "../file/handle.hpp"
#include "../file/hdf5_file.hpp"
#include "../file/new_dataset.hpp"
#include "../layout/memory.hpp"
#include "../layout/pieces.hpp"

namespace damaris::hdf5 {
namespace {

constexpr std::uint64_t kMetadataBytes = std::uint64_t{1} << 16;  // for the chunk index and other metadata that HDF5 may add

void label_found(hid_t dataset, const dc_variable_info_t& variable, const Summary& found) {
  found.label(dataset);
  if (variable.reduction.precision == DC_EXACT) return;
  const bool relative = variable.reduction.precision == DC_ROUND_RELATIVE;
  write_attribute(dataset, relative ? "largest_relative_error" : "largest_error", found.error);
}

Piece piece_of(const SharedDataset& one) { return {one.path, one.variable, one.joined, one.has_position, one.whole, {}}; }

void label_shared(const Dataset& dataset, const SharedDataset& one, std::int64_t step, const SharedLayout& layout) {
  Piece piece = piece_of(one);
  std::vector<dc_dataset_t> blocks(one.parts.size());  // of all members, without data
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].source = one.parts[i].source;
    blocks[i].block = one.parts[i].block;
    std::copy(one.global.begin(), one.global.end(), blocks[i].global);
    piece.parts.push_back({&blocks[i], one.parts[i].box});
  }
  label_dataset(dataset, piece, step, layout.time, !one.holes.empty());
}

// Whether the dataset has chunks, which all members must write collectively.
bool is_chunked(const SharedDataset& dataset, const std::vector<Filter>& filters) {
  const dc_reduction_t& asked = dataset.variable->reduction;
  const bool reduced = asked.precision != DC_EXACT || asked.codec != DC_CODEC_NONE;
  const bool wanted = reduced ? asked.codec != DC_CODEC_NONE : !filters.empty();
  return (wanted || has_own_chunk(piece_of(dataset))) && dataset.whole.ndims > 0 && volume(dataset.whole) > 0;
}

// If space cannot be reserved: detects at least a file system that is already full.
void check_free_space(const OutputFile& output, const struct stat& facts, std::uint64_t bytes) {
  constexpr std::uint64_t kStatBlock = 512;
  struct statvfs disk = {};
  if (::fstatvfs(output.descriptor(), &disk) != 0) return;
  const std::uint64_t there = static_cast<std::uint64_t>(facts.st_blocks) * kStatBlock, room = disk.f_bavail * disk.f_frsize;
  if (bytes > there + room) throw_system_failure(ENOSPC, "find space for", output.temporary_path());
}

}  // namespace

void DatasetCreator::make(const OutputFile& output, std::int64_t step, const SharedLayout& layout) const {
  Hdf5File file(output.descriptor(), output.temporary_path(), Hdf5File::Mode::create);
  label_file(file.id(), step, layout);
  for (const SharedDataset& one : layout.datasets) {
    Dataset dataset = create(file.id(), one);
    label_shared(dataset, one, step, layout);
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
  const dc_reduction_t& asked = one.variable->reduction;
  if (!one.holes.empty()) set_fill(properties, *one.variable);
  if (is_chunked(one, filters_)) {
    set_chunk(properties, piece, chunk_of(piece));
    const bool compressed = asked.codec != DC_CODEC_NONE;
    if (compressed || asked.precision == DC_EXACT) set_filters(properties, asked, filters_, compressed);
    checked(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_ALLOC), "set the fill time");
  } else {
    checked(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "set the time of allocation");
  }
  Dataset dataset = create_dataset(file, piece, type_of(*one.variable), properties, link_properties());
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

void DatasetCreator::label(const OutputFile& output, const SharedLayout& layout, const std::vector<Summary>& found) const {
  Hdf5File file(output.descriptor(), output.temporary_path(), Hdf5File::Mode::open);
  for (std::size_t i = 0; i < layout.datasets.size(); ++i) {
    const std::string& path = layout.datasets[i].path;
    const Dataset dataset(H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), "open the dataset", path);
    label_found(dataset.id(), *layout.datasets[i].variable, found[i]);
  }
  file.close();
}

namespace {

// Per write: large, as each write synchronizes all servers, but it bounds the memory for gathering.
constexpr std::size_t kLoadBytes = std::size_t{32} << 20;

Space part_of(const Box& whole, const Box& part) {
  Space space = space_of(whole);
  select(space, whole, part);
  return space;
}

Space nothing_of(const Box& whole) {
  Space space = space_of(whole);
  checked(H5Sselect_none(space.id()), "select nothing");
  return space;
}

manifest::DatasetEntry record_of(const SharedDataset& dataset, const Piece& piece, const Summary& summary) {
  manifest::DatasetEntry entry = record_of(piece);
  entry.global = dataset.global;
  entry.start.emplace();
  for (int d = 0; d < piece.box.ndims; ++d) entry.start->push_back(piece.box.low[d] - dataset.whole.low[d]);
  entry.stored_bytes = entry.raw_bytes;
  entry.reduce = dataset.variable->reduce;
  summary.fill(entry, dataset.variable->reduction.precision != DC_EXACT);
  return entry;
}

// MPI-IO takes what precedes a ':' for the name of a file system. A prefix of ours would help, but choose the file system for MPI.
std::string name_for_mpi(const SharedFile& file) {
  return file.path.find(':') == std::string::npos ? file.path : "/proc/self/fd/" + std::to_string(file.descriptor);
}

}  // namespace

template <class Step>
void BoxWriter::attempt(Step&& step) {
  try {
    step();
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

BoxWriter::Result BoxWriter::write(const SharedFile& shared, const SharedLayout& layout, const dc_step_t* step) {
  const std::string& path = shared.path;
  failure_ = nullptr;
  Result result;
  result.found.resize(layout.datasets.size());
  File file(H5Fopen(name_for_mpi(shared).c_str(), H5F_ACC_RDWR, team_.file_access().id()), "open together", path);
  for (std::size_t i = 0; i < layout.datasets.size(); ++i)
    attempt([&] { write_dataset(file.id(), layout.datasets[i], step, result, result.found[i]); });
  attempt([&] { file.close("close", path); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return result;
}

void BoxWriter::write_dataset(hid_t file, const SharedDataset& dataset, const dc_step_t* step, Result& result, Summary& found) {
  if (step == nullptr) return write_pieces(file, dataset, {}, result, found);
  const std::vector<Piece> pieces = pieces_of(dataset, team_.member(), *step);
  observe_pieces(pieces.data(), pieces.size(), *dataset.variable, step->step,
                 [&] { write_pieces(file, dataset, pieces, result, found); });
}

void BoxWriter::write_pieces(hid_t file, const SharedDataset& dataset, const std::vector<Piece>& pieces, Result& result,
                             Summary& found) {
  std::vector<Summary> summaries(pieces.size());
  const std::vector<Load> loads = loads_of(dataset, pieces, summaries);
  const bool together = is_collective(dataset);
  const std::size_t rounds = together ? rounds_of(dataset) : loads.size();
  double chunk_bytes = 0;
  if (rounds > 0) {
    const Dataset open(H5Dopen2(file, dataset.path.c_str(), H5P_DEFAULT), "open the dataset", dataset.path);
    for (std::size_t round = 0; round < rounds; ++round)
      put(dataset, open, round < loads.size() ? &loads[round] : nullptr, together);
    if (is_chunked(dataset, filters_)) chunk_bytes = static_cast<double>(H5Dget_storage_size(open.id()));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    manifest::DatasetEntry entry = record_of(dataset, pieces[i], summaries[i]);
    if (is_chunked(dataset, filters_))  // this member's share of their stored size
      entry.stored_bytes = static_cast<std::uint64_t>(chunk_bytes * static_cast<double>(volume(entry.box)) /
                                                      static_cast<double>(volume(dataset.whole)));
    found.add(summaries[i]);
    result.boxes.push_back(std::move(entry));
  }
}

// A chunked box is written whole, so that each chunk is compressed once.
std::vector<Box> BoxWriter::bricks_of(const SharedDataset& dataset, const std::vector<Box>& boxes) const {
  std::vector<Box> bricks;
  for (const Box& box : boxes) {
    if (volume(box) == 0) continue;
    if (is_chunked(dataset, filters_)) {
      bricks.push_back(box);
      continue;
    }
    const Extents extents = brick_extents(box, dataset.variable->element_bytes, kLoadBytes);
    for_each_brick(box, extents, [&](const Box& brick) { bricks.push_back(brick); });
  }
  return bricks;
}

std::vector<Box> BoxWriter::all_bricks(const SharedDataset& dataset, int member) const {
  std::vector<Box> bricks = bricks_of(dataset, boxes_of(dataset, member));
  if (member != 0 || is_chunked(dataset, filters_)) return bricks;
  const std::vector<Box> holes = bricks_of(dataset, dataset.holes);
  bricks.insert(bricks.end(), holes.begin(), holes.end());
  return bricks;
}

// If each write is contiguous in the file, collective writes gain nothing. Else MPI merges the interleaved pieces.
bool BoxWriter::is_collective(const SharedDataset& dataset) const {
  if (is_chunked(dataset, filters_)) return true;
  std::size_t offset = 0;
  for (int member = 0; member < team_.size(); ++member)
    for (const Box& brick : all_bricks(dataset, member))
      if (!is_contiguous(dataset.whole, brick, dataset.variable->element_bytes, offset)) return true;
  return false;
}

std::size_t BoxWriter::rounds_of(const SharedDataset& dataset) const {
  std::size_t most = 0;
  for (int member = 0; member < team_.size(); ++member) most = std::max(most, all_bricks(dataset, member).size());
  return most;
}

std::vector<BoxWriter::Load> BoxWriter::loads_of(const SharedDataset& dataset, const std::vector<Piece>& pieces,
                                                 std::vector<Summary>& summaries) const {
  std::vector<Load> loads;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (const Box& brick : bricks_of(dataset, {pieces[i].box})) loads.push_back({brick, &pieces[i], &summaries[i]});
  if (team_.member() == 0 && !is_chunked(dataset, filters_))
    for (const Box& brick : bricks_of(dataset, dataset.holes)) loads.push_back({brick, nullptr, nullptr});
  return loads;
}

void BoxWriter::put(const SharedDataset& dataset, const Dataset& open, const Load* load, bool collective) {
  const void* values = nullptr;
  if (load != nullptr && !failure_) attempt([&] { values = values_of(*load, dataset); });
  if (values == nullptr && !collective) return;
  attempt([&] {
    const char nothing = 0;
    const Space memory = values == nullptr ? nothing_of(dataset.whole) : space_of(load->box);
    const Space file = values == nullptr ? nothing_of(dataset.whole) : part_of(dataset.whole, load->box);
    const Properties alone(H5Pcreate(DAMARIS_HDF5_CLASS(DATASET_XFER)), "make the properties of a write");
    const Properties together = Team::collective_write();
    checked(H5Dwrite(open.id(), type_of(*dataset.variable).id(), memory.id(), file.id(), (collective ? together : alone).id(),
                     values == nullptr ? &nothing : values),
            "write the dataset", dataset.path);
  });
}

const void* BoxWriter::values_of(const Load& load, const SharedDataset& dataset) {
  if (load.piece == nullptr) return filling(load, dataset);
  Float16Scales none;  // 16 bits are refused for files of several servers
  brick_.box = load.box;
  brick_.load(*load.piece, plan_precision(*load.piece, brick_.gathered, none));
  load.summary->add(brick_.summary);
  return brick_.values;
}

const void* BoxWriter::filling(const Load& load, const SharedDataset& dataset) {
  const auto count = static_cast<std::size_t>(volume(load.box));
  Staging& values = brick_.gathered;
  values.resize(std::max(values.size(), count * dataset.variable->element_bytes));
  const std::vector<std::byte> element = fill_of(*dataset.variable);
  for (std::size_t i = 0; i < count; ++i) std::copy(element.begin(), element.end(), values.data() + i * element.size());
  return values.data();
}

}  // namespace damaris::hdf5
