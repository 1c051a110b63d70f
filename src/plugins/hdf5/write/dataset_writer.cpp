#include "dataset_writer.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "../file/new_dataset.hpp"
#include "../layout/gather.hpp"
#include "../layout/memory.hpp"
#include "codec/checksum.hpp"

namespace damaris::hdf5 {

// It delegates, so the destructor joins those that there are when one more is refused.
Workers::Workers(int threads) try : Workers() {
  threads_.reserve(static_cast<std::size_t>(std::max(threads, 1)));
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
} catch (const std::system_error& refused) {
  throw Error(DC_E_MEMORY, "the system refuses the " + std::to_string(threads) +
                               " threads of threads=\"...\": " + refused.code().message() +
                               "; raise ulimit -u, ulimit -v or pids.max of the control group, or set fewer");
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    begin_.wait(lock, [this] { return over_ || next_ < count_; });
    if (over_) return;
    run_tasks(lock);
  }
}

void Workers::run_tasks(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t mine = next_++;
    ++busy_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*task_)(mine);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    --busy_;
    if (thrown != nullptr && thrown_ == nullptr) thrown_ = thrown;
  }
  if (busy_ == 0) end_.notify_all();
}

void Workers::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::unique_lock<std::mutex> lock(mutex_);
  task_ = &task;
  next_ = 0;
  count_ = count;
  if (count > 1) begin_.notify_all();
  run_tasks(lock);
  end_.wait(lock, [this] { return busy_ == 0; });
  count_ = next_ = 0;
  if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
}

namespace {

// The index of a dataset's chunks takes 2.1 KB of the file, more than compression saves of so few bytes of the variable: it stays contiguous.
constexpr std::uint64_t kSmallBytes = 4096;

bool is_compressed(const Piece& piece) {
  if (piece.variable->reduction.codec == DC_CODEC_NONE || piece.box.ndims == 0) return false;
  return has_own_chunk(piece) || static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes > kSmallBytes;
}

Box frame_of(const Box& brick, const Extents& chunk) {
  Box frame = brick;
  for (int d = 0; d < brick.ndims; ++d) frame.high[d] = brick.low[d] + chunk[d];
  return frame;
}

Properties properties_of(const Piece& piece, const Extents& chunk, const std::vector<Filter>& filters) {
  Properties properties = dataset_properties();
  const bool has_codec = piece.variable->reduction.codec != DC_CODEC_NONE;
  if (is_compressed(piece) || has_own_chunk(piece) || (!has_codec && !filters.empty())) set_chunk(properties, piece, chunk);
  if (!is_compressed(piece)) {
    if (!has_codec) add_filters(properties, filters);
    return properties;
  }
  const dc_reduction_t& reduction = piece.variable->reduction;
  checked(H5Pset_shuffle(properties.id()), "set the shuffle filter");
  const auto level = static_cast<unsigned>(reduction.level);
  if (reduction.codec == DC_CODEC_DEFLATE)
    checked(H5Pset_deflate(properties.id(), std::min(level, 9U)), "set the deflate filter");
  else  // optional: this HDF5 need not have the filter, as it never runs it
    checked(H5Pset_filter(properties.id(), codec::kZstdFilter, H5Z_FLAG_OPTIONAL, 1, &level), "set the zstd filter");
  return properties;
}

// Uses the names of the CF conventions where they exist, so that readers dequantize.
void label(const Dataset& dataset, const Piece& piece, const Precision& precision, const manifest::DatasetEntry& entry) {
  const dc_reduction_t& asked = piece.variable->reduction;
  if (asked.precision == DC_EXACT) return;  // no attributes, so that h5diff finds no difference from an uncompressed dataset
  write_attribute(dataset.id(), "reduce", std::string(piece.variable->reduce));
  if (precision.overflows) return write_attribute(dataset.id(), "overflowed_float16", std::int32_t{1});
  write_attribute(dataset.id(), precision.kind == DC_ROUND_RELATIVE ? "largest_relative_error" : "largest_error",
                  *entry.largest_error);
  if (precision.kind != DC_FLOAT16) return write_attribute(dataset.id(), "error_bound", asked.bound);
  write_attribute(dataset.id(), "scale_factor", precision.scaling.scale);
  write_attribute(dataset.id(), "add_offset", precision.scaling.offset);
}

bool is_reduced(const Piece& piece) {
  return piece.variable->reduction.precision != DC_EXACT || piece.variable->reduction.codec != DC_CODEC_NONE;
}

}  // namespace

Dataset ChunkWriter::write(const Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry) {
  const Precision precision = plan_precision(piece, lanes_.front().gathered, float16_scales_);
  const Type type = precision.kind == DC_FLOAT16 ? half_type() : type_of(*piece.variable);
  const Extents chunk = chunk_of(piece, memory_.codec_bytes());
  Dataset dataset = create_dataset(file.id(), piece, type, properties_of(piece, chunk, filters_), file.links());
  entry.reduce = piece.variable->reduce;
  if (precision.kind != DC_EXACT) entry.largest_error = 0;
  if (precision.kind == DC_FLOAT16) {
    entry.scale = precision.scaling.scale;
    entry.offset = precision.scaling.offset;
  }
  write_all({piece, precision, dataset, type, chunk, entry});
  label(dataset, piece, precision, entry);
  return dataset;
}

void ChunkWriter::write_all(const ChunkTarget& target) {
  BrickIndex index(target.chunk);
  const std::uint64_t chunk_bytes =
      static_cast<std::uint64_t>(volume(frame_of(target.piece.box, target.chunk))) * target.piece.variable->element_bytes;
  const std::size_t lanes = lanes_within(memory_.codec_bytes(), chunk_bytes, lanes_.size());
  std::size_t filled = 0;
  const auto flush = [&] {
    workers_.run(filled, [&](std::size_t i) { prepare(lanes_[i], target); });
    for (std::size_t i = 0; i < filled; ++i) {
      put(lanes_[i], target);
      note(lanes_[i], target, index);
    }
    filled = 0;
  };
  for_each_brick(target.piece.box, target.chunk, [&](const Box& brick) {
    lanes_[filled++].brick = brick;
    if (filled == lanes) flush();
  });
  if (filled > 0) flush();
  index.label(target.dataset, target.piece.box.ndims);
  index.fill_range(target.entry);
}

void ChunkWriter::note(const ChunkLane& lane, const ChunkTarget& target, BrickIndex& index) {
  const auto bytes = static_cast<std::uint64_t>(volume(lane.brick)) * target.precision.element_bytes;
  target.entry.checksum = codec::crc32_joined(target.entry.checksum, lane.checksum, bytes);
  if (target.entry.largest_error) target.entry.largest_error = std::max(*target.entry.largest_error, lane.error);
  if (has_order(target.piece.variable->type)) index.add(lane.range);
}

void ChunkWriter::prepare(ChunkLane& lane, const ChunkTarget& target) const {
  const auto count = static_cast<std::size_t>(volume(lane.brick));
  lane.values = elements_of(target.piece, lane.brick, lane.gathered);
  const BrickSummary summary = summarize(*target.piece.variable, lane.values, count);
  lane.range = summary.range;
  lane.checksum = summary.checksum;
  lane.error = 0;
  if (target.precision.kind != DC_EXACT) {
    const std::size_t bytes = count * target.precision.element_bytes;
    lane.changed.resize(std::max(lane.changed.size(), bytes));
    lane.error = apply(target.precision, lane.values, count, lane.changed.data());
    lane.values = lane.changed.data();
    lane.checksum = codec::crc32(lane.values, bytes);
  }
  if (!is_compressed(target.piece)) return;
  const Box frame = frame_of(lane.brick, target.chunk);
  fill_up(lane, frame, target.precision.element_bytes);
  encode(lane, target, frame);
}

// Adds zeros to a chunk that is cut off by the end of the dataset: last, so that they count in no error, range or checksum.
void ChunkWriter::fill_up(ChunkLane& lane, const Box& frame, std::size_t element_bytes) {
  if (lane.brick == frame) return;
  const std::size_t bytes = static_cast<std::size_t>(volume(frame)) * element_bytes;
  lane.framed.resize(std::max(lane.framed.size(), bytes));
  std::fill_n(lane.framed.data(), bytes, std::byte{0});
  copy_region({lane.framed.data(), frame}, {static_cast<const std::byte*>(lane.values), lane.brick}, lane.brick, element_bytes);
  lane.values = lane.framed.data();
}

void ChunkWriter::encode(ChunkLane& lane, const ChunkTarget& target, const Box& frame) const {
  const dc_reduction_t& reduction = target.piece.variable->reduction;
  std::unique_ptr<codec::Encoder>& encoder = lane.encoders[{reduction.codec, reduction.level}];
  const codec::Codec codec = reduction.codec == DC_CODEC_DEFLATE ? codec::Codec::kDeflate : codec::Codec::kZstd;
  if (encoder == nullptr) encoder = codec::Encoder::make({codec, reduction.level});
  const auto row = static_cast<std::uint64_t>(frame.extent(frame.ndims - 1));
  lane.encoded = encoder->encode({lane.values, static_cast<std::size_t>(volume(frame)), target.precision.element_bytes, row});
}

void ChunkWriter::put(const ChunkLane& lane, const ChunkTarget& target) const {
  if (!is_compressed(target.piece)) return write_box(target.dataset, target.piece, target.type, lane.brick, lane.values);
  const std::size_t raw_bytes =
      static_cast<std::size_t>(volume(frame_of(lane.brick, target.chunk))) * target.precision.element_bytes;
  const bool smaller = lane.encoded.smaller;
  checked(H5Dwrite_chunk(target.dataset.id(), H5P_DEFAULT, smaller ? 0 : codec::kSkipFilters,
                         start_of(target.piece.box, lane.brick).data(), smaller ? lane.encoded.bytes : raw_bytes,
                         smaller ? lane.encoded.data : lane.values),
          "write a chunk of", target.piece.path);
}

namespace {

// Whether the host's byte order is that of the file, so that contiguous data can be written unconverted.
constexpr bool kSameOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
// From this size on, the space of all values is preallocated at once.
constexpr std::size_t kWorthReserving = std::size_t{1} << 20;

std::uint64_t offset_of(const Dataset& dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF) throw_hdf5_failure("find the place of", path);
  return offset;
}

}  // namespace

Dataset DatasetWriter::write(Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry) {
  if (volume(piece.box) > 0 && is_reduced(piece)) return reducer_.write(file, piece, entry);
  const dc_variable_info_t& variable = *piece.variable;
  // A dataset without values keeps only the type of its reduction.
  const Type type = variable.reduction.precision == DC_FLOAT16 ? half_type() : type_of(variable);
  const Extents extents = chunk_of(piece, memory_.codec_bytes());
  Dataset dataset = create(file, piece, type, extents);
  const bool direct = goes_past_hdf5(piece);
  AlignedWriter out(file.target(), direct ? offset_of(dataset, piece.path) : 0);
  BrickIndex index(extents);
  for_each_brick(piece.box, extents, [&](const Box& brick) {
    const BrickRange range = direct ? write_run(out, piece, brick, entry) : write_chunk(dataset, type, piece, brick, entry);
    if (has_order(variable.type)) index.add(range);
  });
  out.flush();
  index.label(dataset, piece.box.ndims);
  index.fill_range(entry);
  return dataset;
}

// The dataset is contiguous in the file and its bricks follow each other, so HDF5 would only pass them through.
BrickRange DatasetWriter::write_run(AlignedWriter& out, const Piece& piece, const Box& brick, manifest::DatasetEntry& entry) {
  const std::size_t element_bytes = piece.variable->element_bytes;
  const std::byte* const values = elements_of(piece, brick, staging_);
  const auto count = static_cast<std::size_t>(volume(brick));
  BrickRange range = no_range();
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(std::max<std::size_t>(out.room() / element_bytes, 1), count - done);
    const std::byte* const begin = values + done * element_bytes;
    const BrickSummary summary = summarize(*piece.variable, begin, part);
    range = merged(range, summary.range);
    entry.checksum = codec::crc32_joined(entry.checksum, summary.checksum, part * element_bytes);
    out.add(begin, part * element_bytes, summary.checksum);
    done += part;
  }
  if (values == staging_.data()) out.flush();  // the next brick reuses the staging memory
  return range;
}

BrickRange DatasetWriter::write_chunk(const Dataset& dataset, const Type& type, const Piece& piece, const Box& brick,
                                      manifest::DatasetEntry& entry) {
  const std::byte* const values = elements_of(piece, brick, staging_);
  const auto count = static_cast<std::size_t>(volume(brick));
  const BrickSummary summary = summarize(*piece.variable, values, count);
  entry.checksum = codec::crc32_joined(entry.checksum, summary.checksum, count * piece.variable->element_bytes);
  write_box(dataset, piece, type, brick, values);
  return summary.range;
}

bool DatasetWriter::chunked(const Piece& piece) const {
  return (!filters_.empty() || has_own_chunk(piece)) && piece.box.ndims > 0 && volume(piece.box) > 0;
}

bool DatasetWriter::goes_past_hdf5(const Piece& piece) const {
  return kSameOrder && !is_reduced(piece) && !chunked(piece) && volume(piece.box) > 0;
}

void DatasetWriter::reserve(Hdf5File& file, const std::vector<Piece>& pieces) const {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces)
    if (goes_past_hdf5(piece)) bytes += static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes;
  if (bytes >= kWorthReserving) file.target().reserve(bytes);
}

Dataset DatasetWriter::create(const Hdf5File& file, const Piece& piece, const Type& type, const Extents& brick) const {
  if (!chunked(piece)) return create_dataset(file.id(), piece, type, file.contiguous(), file.links());
  const Properties properties = dataset_properties();
  set_chunk(properties, piece, brick);
  add_filters(properties, filters_);
  return create_dataset(file.id(), piece, type, properties, file.links());
}

}  // namespace damaris::hdf5
