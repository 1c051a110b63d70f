#include "compressed_chunks.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "../file/new_dataset.hpp"
#include "../layout/memory.hpp"
#include "codec/encoder.hpp"
#include "codec/shuffle.hpp"

namespace damaris::hdf5 {
namespace {

// The largest stored size: HDF5 keeps a deflated chunk even if it is slightly larger.
std::size_t max_stored(std::size_t bytes) { return bytes + bytes / 1000 + 64; }

}  // namespace

std::byte* CompressedChunks::Buffer::at_least(std::size_t bytes) {
  if (bytes <= bytes_) return memory_.get();
  memory_.reset();
  bytes_ = 0;
  try {
    memory_.reset(new std::byte[bytes]);
  } catch (const std::bad_alloc&) {
    throw Failure("out of memory for a chunk of " + std::to_string(bytes) + " bytes", 0);
  }
  bytes_ = bytes;
  return memory_.get();
}

CompressedChunks::CompressedChunks(const Dataset& dataset, const StoredLayout& layout, std::string path)
    : dataset_(dataset), layout_(layout), path_(std::move(path)) {}

void CompressedChunks::refuse(const std::string& why) const { throw Failure("a chunk of the dataset " + path_ + " " + why, 0); }

void CompressedChunks::for_each_part(const Box& box, const std::function<void(const Box& part)>& each) const {
  if (volume(box) == 0) return;
  Box aligned = box;
  for (int d = 0; d < box.ndims; ++d) aligned.low[d] -= box.low[d] % layout_.chunk->at(static_cast<std::size_t>(d));
  for_each_brick(aligned, *layout_.chunk, [&](const Box& chunk) { each(intersection(chunk, box)); });
}

// The chunk that contains the part; at the end of the dataset it extends beyond.
Box CompressedChunks::frame_of(const Box& part) const {
  Box frame = part;
  for (int d = 0; d < part.ndims; ++d) {
    const std::int64_t extent = layout_.chunk->at(static_cast<std::size_t>(d));
    frame.low[d] -= part.low[d] % extent;
    frame.high[d] = frame.low[d] + extent;
  }
  return frame;
}

const std::byte* CompressedChunks::read(const Box& box) {
  const Box frame = frame_of(box);
  if (frame == box) {
    decompress(frame);
    return values_;
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(volume(box)), layout_.element_bytes, &bytes))
    refuse("is larger than the memory");
  std::byte* const to = gathered_.at_least(bytes);
  for_each_part(box, [&](const Box& part) {
    decompress(frame_of(part));
    copy_region({to, box}, {values_, frame_}, part, layout_.element_bytes);
  });
  return to;
}

void CompressedChunks::decompress(const Box& frame) {
  if (values_ != nullptr && frame == frame_) return;
  values_ = nullptr;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(volume(frame)), layout_.element_bytes, &bytes))
    refuse("is larger than the memory");
  Sizes start = {};
  for (int d = 0; d < frame.ndims; ++d) start[d] = static_cast<hsize_t>(frame.low[d]);
  hsize_t stored_bytes = 0;
  checked(H5Dget_chunk_storage_size(dataset_.id(), start.data(), &stored_bytes), "find a chunk of", path_);
  if (stored_bytes == 0) refuse("is not in the file");
  if (stored_bytes > max_stored(bytes)) refuse("has more bytes in the file than its values");
  std::uint32_t skipped = 0;  // one bit per filter
  checked(H5Dread_chunk(dataset_.id(), H5P_DEFAULT, start.data(), &skipped, stored_.at_least(stored_bytes)), "read a chunk of",
          path_);
  const std::byte* const values = decoded(stored_bytes, skipped, bytes);
  const bool is_shuffled = layout_.is_shuffled && (skipped & 1U) == 0;
  if (is_shuffled)
    codec::unshuffle(values, static_cast<std::size_t>(volume(frame)), layout_.element_bytes, unshuffled_.at_least(bytes));
  values_ = is_shuffled ? unshuffled_.get() : values;
  frame_ = frame;
}

const std::byte* CompressedChunks::decoded(std::size_t stored_bytes, std::uint32_t skipped, std::size_t bytes) {
  const std::uint32_t codec_bit = layout_.is_shuffled ? 2U : 1U;
  if (!layout_.codec || (skipped & codec_bit) != 0) {
    if (stored_bytes != bytes) refuse("does not have as many bytes as its values");
    return stored_.get();
  }
  if (!codec::decode(*layout_.codec, stored_.get(), stored_bytes, decoded_.at_least(bytes), bytes))
    refuse("is damaged: it does not decompress to the " + std::to_string(bytes) + " bytes of its values");
  return decoded_.get();
}

}  // namespace damaris::hdf5
