#include "chunk_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "../layout/memory.hpp"
#include "../write/fill.hpp"
#include "codec/checksum.hpp"
#include "part_record.hpp"

namespace damaris::hdf5 {

// The beginning of each message.
struct ChunkExchange::Head {
  enum class Kind : std::uint32_t { part, chunk, end };
  Kind kind = Kind::end;
  std::uint32_t skipped = 0;                        // the filter mask of a chunk
  std::uint64_t dataset = 0, chunk = 0, share = 0;  // numbers in the layout, in chunks_of(), in the chunk
  Facts facts = {};
  std::uint64_t failed = 0;  // the sender has no values, and reports why at the end
};

namespace {

Box frame_in(const SharedDataset& dataset, const SharedChunk& chunk) { return frame_of(chunk.brick, *dataset.chunk); }

std::size_t bytes_of(const Box& box, const SharedDataset& dataset) {
  return static_cast<std::size_t>(volume(box)) * dataset.precision.element_bytes;
}

void fill(std::vector<std::byte>& to, const std::vector<std::byte>& element) {
  for (std::size_t at = 0; at < to.size(); at += element.size())
    std::copy(element.begin(), element.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
}

bool has_holes(const SharedChunk& chunk) {
  std::int64_t values = 0;
  for (const ChunkShare& share : chunk.shares) values += volume(share.part);
  return values < volume(chunk.brick);
}

// Whether the parts of a piece in its chunks, one after the other, are its values in C order.
bool is_in_order(const Piece& piece, std::size_t box, int member, const std::vector<SharedChunk>& chunks) {
  std::size_t offset = 0;
  for (const SharedChunk& chunk : chunks)
    for (const ChunkShare& share : chunk.shares)
      if (share.member == member && share.box == box && !is_contiguous(piece.box, share.part, 1, offset)) return false;
  return true;
}

}  // namespace

template <class Step>
void ChunkExchange::attempt(Step&& step) {
  if (failure_) return;
  try {
    step();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

bool ChunkExchange::has_work(const SharedLayout& layout) {
  const auto has_chunks = [](const SharedDataset& dataset) { return dataset.chunk.has_value(); };
  return std::any_of(layout.datasets.begin(), layout.datasets.end(), has_chunks);
}

std::vector<std::vector<manifest::DatasetEntry>> ChunkExchange::run() {
  std::vector<std::vector<manifest::DatasetEntry>> records(layout_.datasets.size());
  for (std::size_t i = 0; i < layout_.datasets.size(); ++i) {
    if (!layout_.datasets[i].chunk) continue;
    Work work = begin(i);
    send_parts(work);
    attempt([&] { encode_simple(work); });
    encode_joint(work);
    attempt([&] { finish(work); });
    records[i] = std::move(work.entries);
  }
  wait_for_others();
  if (failure_) std::rethrow_exception(failure_);
  return records;
}

void ChunkExchange::wait_for_others() {
  if (store_ == nullptr) send(0, Head(), nullptr, 0);
  const auto is_over = [&] { return parts_received_ == parts_due_ && (store_ == nullptr || ended_ == team_.size() - 1); };
  team_.serve_until(is_over, receiver());
  team_.serve_until_sent(receiver());
}

ChunkExchange::Work ChunkExchange::begin(std::size_t number) const {
  const SharedDataset& dataset = layout_.datasets[number];
  Work work = {number, dataset, chunks_of(dataset, *dataset.chunk, team_.size()), {}, {}, {}};
  if (step_ != nullptr) work.pieces = pieces_of(dataset, team_.member(), *step_);
  for (const Piece& piece : work.pieces) work.entries.push_back(record_of(dataset, piece));
  work.sums.resize(work.pieces.size());
  return work;
}

void ChunkExchange::note(Work& work, std::size_t chunk, const ChunkShare& share, const StoredValues& values) {
  manifest::DatasetEntry& entry = work.entries[share.box];
  if (has_order(work.dataset.variable->type)) add_range(entry, values.range);
  if (entry.largest_error) entry.largest_error = std::max(*entry.largest_error, values.error);
  work.sums[share.box][chunk] = {values.checksum, values.bytes};
}

StoredValues ChunkExchange::take(Work& work, std::size_t chunk, const ChunkShare& share) {
  const StoredValues values = encoder_.values_of(work.pieces[share.box], work.dataset.precision, share.part);
  note(work, chunk, share, values);
  return values;
}

// The other members wait for these, so they come first, and a member without values says that.
void ChunkExchange::send_parts(Work& work) {
  for (std::size_t i = 0; i < work.chunks.size(); ++i) {
    const SharedChunk& chunk = work.chunks[i];
    for (std::size_t k = 0; k < chunk.shares.size(); ++k) {
      const ChunkShare& share = chunk.shares[k];
      if (chunk.owner == team_.member() && share.member != chunk.owner) ++parts_due_;
      if (share.member != team_.member() || chunk.owner == team_.member()) continue;
      StoredValues values;
      attempt([&] { values = take(work, i, share); });
      const Head head = {Head::Kind::part, 0, work.number, i, k, {values.range, values.error}, failure_ != nullptr ? 1U : 0U};
      send(chunk.owner, head, values.data, failure_ != nullptr ? 0 : values.bytes);
    }
  }
}

void ChunkExchange::encode_simple(Work& work) {
  for (std::size_t box = 0; box < work.pieces.size(); ++box) {
    std::vector<std::size_t> mine;
    std::vector<Box> bricks;
    for (std::size_t i = 0; i < work.chunks.size(); ++i) {
      const SharedChunk& chunk = work.chunks[i];
      if (chunk.owner != team_.member() || !chunk.is_simple() || chunk.shares.front().box != box) continue;
      mine.push_back(i);
      bricks.push_back(chunk.brick);
    }
    std::size_t next = 0;
    const auto put_one = [&](const Box&, const StoredValues& values, const EncodedChunk& encoded) {
      const std::size_t i = mine[next++];
      note(work, i, work.chunks[i].shares.front(), values);
      put(work, i, encoded, {values.range, values.error});
    };
    encoder_.encode({work.pieces[box], work.dataset.precision, work.dataset.codec, *work.dataset.chunk, true}, bricks, put_one);
  }
}

void ChunkExchange::encode_joint(Work& work) {
  for (std::size_t i = 0; i < work.chunks.size(); ++i) {
    const SharedChunk& chunk = work.chunks[i];
    if (chunk.owner != team_.member() || chunk.is_simple()) continue;
    const auto of_others =
        std::count_if(chunk.shares.begin(), chunk.shares.end(), [&](const ChunkShare& one) { return one.member != chunk.owner; });
    std::vector<ReceivedPart>& parts = received_[{work.number, i}];
    team_.serve_until([&] { return static_cast<std::ptrdiff_t>(parts.size()) == of_others; }, receiver());
    const bool is_whole = std::none_of(parts.begin(), parts.end(), [](const ReceivedPart& part) { return part.failed; });
    if (is_whole) attempt([&] { encode_joint(work, i); });
    received_.erase({work.number, i});
  }
}

// Elements that nobody writes get the fill value, those beyond the dataset zeros.
void ChunkExchange::encode_joint(Work& work, std::size_t number) {
  const SharedDataset& dataset = work.dataset;
  const SharedChunk& chunk = work.chunks[number];
  const Box frame = frame_in(dataset, chunk);
  const std::size_t bytes = bytes_of(frame, dataset), element_bytes = dataset.precision.element_bytes;
  frame_.resize(std::max(frame_.size(), bytes));
  std::fill_n(frame_.data(), bytes, std::byte{0});
  if (has_holes(chunk)) {
    std::vector<std::byte> holes(bytes_of(chunk.brick, dataset));
    fill(holes, stored_fill_of(dataset.precision.kind, *dataset.variable));
    copy_region({frame_.data(), frame}, {holes.data(), chunk.brick}, chunk.brick, element_bytes);
  }
  Facts facts;
  const auto add = [&](const ChunkShare& share, const void* values, const Facts& of_part) {
    copy_region({frame_.data(), frame}, {static_cast<const std::byte*>(values), share.part}, share.part, element_bytes);
    facts.range = merged(facts.range, of_part.range);
    facts.error = std::max(facts.error, of_part.error);
  };
  for (const ChunkShare& share : chunk.shares) {
    if (share.member != team_.member()) continue;
    const StoredValues values = take(work, number, share);
    add(share, values.data, {values.range, values.error});
  }
  for (const ReceivedPart& part : received_[{work.number, number}]) add(chunk.shares[part.share], part.values.data(), part.facts);
  const auto row = static_cast<std::uint64_t>(frame.extent(frame.ndims - 1));
  put(work, number, encoder_.encode(dataset.codec, {frame_.data(), static_cast<std::size_t>(volume(frame)), element_bytes, row}),
      facts);
}

// The checksum of a box is that of its values in C order, which need not be the order of its chunks.
void ChunkExchange::finish(Work& work) {
  for (std::size_t box = 0; box < work.pieces.size(); ++box) {
    const Piece& piece = work.pieces[box];
    std::uint32_t& checksum = work.entries[box].checksum;
    if (is_in_order(piece, box, team_.member(), work.chunks)) {
      for (const auto& [chunk, sum] : work.sums[box]) checksum = codec::crc32_joined(checksum, sum.first, sum.second);
      continue;
    }
    for_each_brick(piece.box, brick_extents(piece.box, piece.variable->element_bytes), [&](const Box& brick) {
      const StoredValues values = encoder_.values_of(piece, work.dataset.precision, brick);
      checksum = codec::crc32_joined(checksum, values.checksum, values.bytes);
    });
  }
}

void ChunkExchange::put(const Work& work, std::size_t chunk, const EncodedChunk& encoded, const Facts& facts) {
  if (store_ != nullptr) {
    store_->put(work.number, chunk, encoded, facts.range, facts.error);
    return team_.serve(receiver());
  }
  send(0, {Head::Kind::chunk, encoded.skipped, work.number, chunk, 0, facts, 0}, encoded.data, encoded.bytes);
}

void ChunkExchange::send(int to, const Head& head, const void* data, std::size_t bytes) {
  Team::Message message(sizeof head + bytes);
  std::memcpy(message.data(), &head, sizeof head);
  if (bytes > 0) std::memcpy(message.data() + sizeof head, data, bytes);
  team_.send(to, std::move(message), receiver());
}

void ChunkExchange::receive(const Team::Message& message) {
  Head head;
  std::memcpy(&head, message.data(), sizeof head);
  const std::byte* const data = message.data() + sizeof head;
  const std::size_t bytes = message.size() - sizeof head;
  if (head.kind == Head::Kind::end) ++ended_;
  if (head.kind == Head::Kind::chunk) attempt([&] { receive_chunk(head, data, bytes); });
  if (head.kind != Head::Kind::part) return;
  ++parts_received_;
  received_[{head.dataset, head.chunk}].push_back(
      {static_cast<std::size_t>(head.share), head.facts, {data, data + bytes}, head.failed != 0});
}

void ChunkExchange::receive_chunk(const Head& head, const std::byte* data, std::size_t bytes) {
  store_->put(head.dataset, head.chunk, {data, bytes, head.skipped}, head.facts.range, head.facts.error);
}

}  // namespace damaris::hdf5
