#include "dataset_writer.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "codec/checksum.hpp"
#include "codec/range.hpp"

namespace damaris::hdf5 {
namespace {

// A double may be closer to zero than the integer it was converted from, so that the range would exclude it. From 2^63 on the cast cannot
// be reversed.
template <class T>
double not_above(T value) {
  const auto near = static_cast<double>(value);
  const bool above = std::is_integral_v<T> && (near >= 0x1p63 || static_cast<T>(near) > value);
  return above ? std::nextafter(near, -std::numeric_limits<double>::infinity()) : near;
}

template <class T>
double not_below(T value) {
  const auto near = static_cast<double>(value);
  const bool below = std::is_integral_v<T> && near < 0x1p63 && static_cast<T>(near) < value;
  return below ? std::nextafter(near, std::numeric_limits<double>::infinity()) : near;
}

// Calls `visit` with the values as a typed pointer, or `otherwise` for unordered types.
template <class Visit, class Otherwise>
auto with_type(dc_type type, const void* values, Visit&& visit, Otherwise&& otherwise) {
  switch (type) {
    case DC_FLOAT32:
      return visit(static_cast<const float*>(values));
    case DC_FLOAT64:
      return visit(static_cast<const double*>(values));
    case DC_INT8:
      return visit(static_cast<const std::int8_t*>(values));
    case DC_UINT8:
      return visit(static_cast<const std::uint8_t*>(values));
    case DC_INT16:
      return visit(static_cast<const std::int16_t*>(values));
    case DC_UINT16:
      return visit(static_cast<const std::uint16_t*>(values));
    case DC_INT32:
      return visit(static_cast<const std::int32_t*>(values));
    case DC_UINT32:
      return visit(static_cast<const std::uint32_t*>(values));
    case DC_INT64:
      return visit(static_cast<const std::int64_t*>(values));
    case DC_UINT64:
      return visit(static_cast<const std::uint64_t*>(values));
    default:
      return otherwise();
  }
}

}  // namespace

manifest::DatasetEntry record_of(const Piece& piece) {
  manifest::DatasetEntry entry;
  entry.path = piece.path;
  entry.variable = piece.variable->path;
  entry.has_position = piece.has_position;
  entry.box = piece.box;
  const dc_dataset_t& first = *piece.parts.front().block;
  if (piece.variable->has_global != 0) entry.global.assign(first.global, first.global + piece.variable->ndims);
  if (!piece.joined && !piece.stacked) {
    entry.source = first.source;
    entry.block = first.block;
  }
  if (piece.joined) {
    const auto is_lower = [](const Part& a, const Part& b) { return a.block->source < b.block->source; };
    entry.lowest_source = std::min_element(piece.parts.begin(), piece.parts.end(), is_lower)->block->source;
  }
  if (piece.stacked)
    for (const Part& part : piece.parts) {
      entry.sources.push_back(part.block->source);
      entry.blocks.push_back(part.block->block);
    }
  entry.raw_bytes = static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes;
  return entry;
}

Summary summarize(const dc_variable_info_t& variable, const void* values, std::size_t count) {
  Summary summary;
  summary.bytes = count * variable.element_bytes;
  const auto ordered = [&](const auto* typed) {
    const auto found = codec::summarize(typed, count);
    summary.checksum = found.checksum;
    if (!found.range.finite) return;
    summary.min = not_above(found.range.min);
    summary.max = not_below(found.range.max);
  };
  with_type(variable.type, values, ordered, [&] { summary.checksum = codec::crc32(values, summary.bytes); });
  return summary;
}

// std::fmin and fmax ignore NaN.
void Summary::add(const Summary& next) {
  min = std::fmin(min, next.min);
  max = std::fmax(max, next.max);
  error = std::fmax(error, next.error);
  checksum = codec::crc32_joined(checksum, next.checksum, next.bytes);
  bytes += next.bytes;
}

void Summary::fill(manifest::DatasetEntry& entry, bool rounded) const {
  entry.checksum = checksum;
  if (rounded) entry.largest_error = error;
  if (std::isnan(min)) return;
  entry.min = min;
  entry.max = max;
}

void Summary::label(hid_t dataset) const {
  if (!std::isnan(min)) write_attribute(dataset, "value_range", std::vector<double>{min, max});
}

void Brick::load(const Piece& piece, const Precision& precision) {
  const auto count = static_cast<std::size_t>(volume(box));
  values = elements_of(piece, box, gathered);
  summary = summarize(*piece.variable, values, count);
  if (precision.kind == DC_EXACT) return;
  summary.bytes = count * precision.element_bytes;
  changed.resize(std::max<std::size_t>(changed.size(), summary.bytes));
  summary.error = apply(precision, values, count, changed.data());
  summary.checksum = codec::crc32(changed.data(), summary.bytes);
  values = changed.data();
}

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
// Whether the host's byte order is that of the file, so that contiguous data can be written unconverted.
constexpr bool kSameOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
// From this size on, the space of all values is preallocated at once.
constexpr std::size_t kWorthReserving = std::size_t{1} << 20;
// Fits the L2 cache, and the kernel can keep so much in one large folio, which is cheaper than many small ones.
constexpr std::uint64_t kRunBytes = std::uint64_t{512} << 10;

std::uint64_t bytes_of(const Piece& piece) { return static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes; }

bool is_reduced(const Piece& piece) {
  const dc_reduction_t& asked = piece.variable->reduction;
  return volume(piece.box) > 0 && (asked.precision != DC_EXACT || asked.codec != DC_CODEC_NONE);
}

bool is_compressed(const Piece& piece) {
  if (piece.variable->reduction.codec == DC_CODEC_NONE || piece.box.ndims == 0) return false;
  return volume(piece.box) > 0 && (has_own_chunk(piece) || bytes_of(piece) > kSmallBytes);
}

Box frame_of(const Box& brick, const Extents& chunk) {
  Box frame = brick;
  for (int d = 0; d < brick.ndims; ++d) frame.high[d] = brick.low[d] + chunk[d];
  return frame;
}

std::uint64_t offset_of(const Dataset& dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF) throw_hdf5_failure("find the place of", path);
  return offset;
}

// Uses the names of the CF conventions where they exist, so that readers dequantize.
void label(const Dataset& dataset, const Piece& piece, const Precision& precision, double largest_error) {
  const dc_reduction_t& asked = piece.variable->reduction;
  if (asked.precision == DC_EXACT) return;  // no attributes, so that h5diff finds no difference from an uncompressed dataset
  write_attribute(dataset.id(), "reduce", std::string(piece.variable->reduce));
  if (precision.overflows) return write_attribute(dataset.id(), "overflowed_float16", std::int32_t{1});
  write_attribute(dataset.id(), precision.kind == DC_ROUND_RELATIVE ? "largest_relative_error" : "largest_error", largest_error);
  if (precision.kind != DC_FLOAT16) return write_attribute(dataset.id(), "error_bound", asked.bound);
  write_attribute(dataset.id(), "scale_factor", precision.scaling.scale);
  write_attribute(dataset.id(), "add_offset", precision.scaling.offset);
}

}  // namespace

Dataset DatasetWriter::write(Hdf5File& file, const Piece& piece, manifest::DatasetEntry& entry) {
  const Precision precision = plan_precision(piece, lanes_.front().gathered, float16_scales_);
  const Type type = precision.kind == DC_FLOAT16 ? half_type() : type_of(*piece.variable);
  const Extents chunk = chunk_of(piece, memory_.codec_bytes());
  Dataset dataset = create(file, piece, type, chunk);
  Summary summary;
  if (goes_past_hdf5(piece))
    write_runs(file.target(), offset_of(dataset, piece.path), piece, summary);
  else
    write_chunks({piece, precision, dataset, type, chunk}, summary);
  summary.label(dataset.id());
  summary.fill(entry, is_reduced(piece) && precision.kind != DC_EXACT);
  if (!is_reduced(piece)) return dataset;  // a dataset without values keeps only the type of its reduction
  entry.reduce = piece.variable->reduce;
  if (precision.kind == DC_FLOAT16) {
    entry.scale = precision.scaling.scale;
    entry.offset = precision.scaling.offset;
  }
  label(dataset, piece, precision, summary.error);
  return dataset;
}

// The dataset is contiguous in the file, so HDF5 would only pass the values through.
void DatasetWriter::write_runs(WriteTarget& target, std::uint64_t offset, const Piece& piece, Summary& all) {
  const std::uint64_t element_bytes = piece.variable->element_bytes;
  const std::byte* values = nullptr;  // `left` values that adjoin in memory and are not written yet
  std::uint64_t left = 0;
  const auto write_rest = [&] {
    while (left > 0) {
      const std::uint64_t room = kRunBytes - offset % kRunBytes;  // runs end at aligned offsets of the file
      const std::uint64_t count = std::min((room + element_bytes - 1) / element_bytes, left);
      const Summary run = summarize(*piece.variable, values, static_cast<std::size_t>(count));
      target.write(offset, values, static_cast<std::size_t>(run.bytes), run.checksum);
      all.add(run);
      values += run.bytes;
      offset += run.bytes;
      left -= count;
    }
  };
  for_each_brick(piece.box, brick_extents(piece.box, element_bytes), [&](const Box& brick) {
    if (left == 0 || in_place(piece, brick) != values + left * element_bytes) {
      write_rest();  // before the staging is filled again
      values = elements_of(piece, brick, lanes_.front().gathered);
    }
    left += static_cast<std::uint64_t>(volume(brick));
  });
  write_rest();
}

void DatasetWriter::write_chunks(const ChunkTarget& target, Summary& all) {
  const std::uint64_t chunk_bytes =
      static_cast<std::uint64_t>(volume(frame_of(target.piece.box, target.chunk))) * target.piece.variable->element_bytes;
  const std::size_t lanes = lanes_within(memory_.codec_bytes(), chunk_bytes, lanes_.size());
  std::size_t filled = 0;
  const auto flush = [&] {
    workers_.run(filled, [&](std::size_t i) { prepare(lanes_[i], target); });
    for (std::size_t i = 0; i < filled; ++i) {
      put(lanes_[i], target);
      all.add(lanes_[i].summary);
    }
    filled = 0;
  };
  for_each_brick(target.piece.box, target.chunk, [&](const Box& brick) {
    lanes_[filled++].box = brick;
    if (filled == lanes) flush();
  });
  if (filled > 0) flush();
}

void DatasetWriter::prepare(ChunkLane& lane, const ChunkTarget& target) const {
  lane.load(target.piece, target.precision);
  if (!is_compressed(target.piece)) return;
  const Box frame = frame_of(lane.box, target.chunk);
  fill_up(lane, frame, target.precision.element_bytes);
  encode(lane, target, frame);
}

// Adds zeros to a chunk that is cut off by the end of the dataset: last, so that they count in no error, range or checksum.
void DatasetWriter::fill_up(ChunkLane& lane, const Box& frame, std::size_t element_bytes) {
  if (lane.box == frame) return;
  const std::size_t bytes = static_cast<std::size_t>(volume(frame)) * element_bytes;
  lane.framed.resize(std::max(lane.framed.size(), bytes));
  std::fill_n(lane.framed.data(), bytes, std::byte{0});
  copy_region({lane.framed.data(), frame}, {static_cast<const std::byte*>(lane.values), lane.box}, lane.box, element_bytes);
  lane.values = lane.framed.data();
}

void DatasetWriter::encode(ChunkLane& lane, const ChunkTarget& target, const Box& frame) const {
  const dc_reduction_t& reduction = target.piece.variable->reduction;
  std::unique_ptr<codec::Encoder>& encoder = lane.encoders[{reduction.codec, reduction.level}];
  const codec::Codec codec = reduction.codec == DC_CODEC_DEFLATE ? codec::Codec::kDeflate : codec::Codec::kZstd;
  if (encoder == nullptr) encoder = codec::Encoder::make({codec, reduction.level});
  const auto row = static_cast<std::uint64_t>(frame.extent(frame.ndims - 1));
  lane.encoded = encoder->encode({lane.values, static_cast<std::size_t>(volume(frame)), target.precision.element_bytes, row});
}

void DatasetWriter::put(const ChunkLane& lane, const ChunkTarget& target) const {
  if (!is_compressed(target.piece)) return write_box(target.dataset, target.piece, target.type, lane.box, lane.values);
  const std::size_t raw_bytes = static_cast<std::size_t>(volume(frame_of(lane.box, target.chunk))) * target.precision.element_bytes;
  const bool smaller = lane.encoded.smaller;
  checked(H5Dwrite_chunk(target.dataset.id(), H5P_DEFAULT, smaller ? 0 : codec::kSkipFilters,
                         start_of(target.piece.box, lane.box).data(), smaller ? lane.encoded.bytes : raw_bytes,
                         smaller ? lane.encoded.data : lane.values),
          "write a chunk of", target.piece.path);
}

bool DatasetWriter::chunked(const Piece& piece) const {
  const bool wanted = piece.variable->reduction.codec == DC_CODEC_NONE ? !filters_.empty() : is_compressed(piece);
  return (wanted || has_own_chunk(piece)) && piece.box.ndims > 0 && volume(piece.box) > 0;
}

bool DatasetWriter::goes_past_hdf5(const Piece& piece) const {
  return kSameOrder && !is_reduced(piece) && !chunked(piece) && volume(piece.box) > 0;
}

void DatasetWriter::reserve(Hdf5File& file, const std::vector<Piece>& pieces) const {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces)
    if (goes_past_hdf5(piece)) bytes += bytes_of(piece);
  if (bytes >= kWorthReserving) file.target().reserve(bytes);
}

Dataset DatasetWriter::create(const Hdf5File& file, const Piece& piece, const Type& type, const Extents& chunk) const {
  if (!is_reduced(piece) && !chunked(piece)) return create_dataset(file.id(), piece, type, file.contiguous(), file.links());
  const Properties properties = dataset_properties();
  if (chunked(piece)) {
    set_chunk(properties, piece, chunk);
    set_filters(properties, piece.variable->reduction, filters_, is_compressed(piece));
  }
  return create_dataset(file.id(), piece, type, properties, file.links());
}

}  // namespace damaris::hdf5
