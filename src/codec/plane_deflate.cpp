#include "plane_deflate.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>

#include "shuffle.hpp"

namespace damaris::codec {
namespace {

constexpr std::size_t kMaxStored = 65535;
constexpr std::size_t kSlack = 384;  // how far inner loops may access beyond the end: the longest match and 64 bytes

// The header and each stored block add a few bytes.
std::size_t bound(std::size_t bytes, std::size_t planes) { return bytes + 16 * (bytes / Survey::kUnit + planes + 4) + kSlack; }

}  // namespace

Encoded PlaneDeflate::encode(const Chunk& chunk) {
  const std::size_t bytes = chunk.bytes();
  unsigned char* shuffled = shuffled_.at_least(bytes + kSlack);
  unsigned char* stream = stream_.at_least(bound(bytes, chunk.size));
  symbols_.at_least(max_symbols(Survey::kMaxEncoded) * sizeof(Symbol));
  distances_ = Distances::of_row(chunk.row);
  shuffle(static_cast<const std::byte*>(chunk.data), chunk.count, chunk.size, reinterpret_cast<std::byte*>(shuffled), simd_);
  std::memset(shuffled + bytes, 0, kSlack);

  stream[0] = 0x78;  // deflate with a window of 32 KiB
  stream[1] = 0x01;  // fastest; makes the header a multiple of 31
  BitWriter out(stream + 2);
  for (std::size_t plane = 0; plane < chunk.size; ++plane) encode_plane(plane * chunk.count, (plane + 1) * chunk.count, out);
  out.put(1 | 1 << 1, 3);  // the last block: empty, with the fixed codes
  out.put(0, 7);
  unsigned char* end = out.align();
  const std::uint32_t sum = libdeflate_adler32(1, shuffled, bytes);
  for (unsigned k = 0; k < 4; ++k) *end++ = static_cast<unsigned char>(sum >> (24 - 8 * k));
  const auto size = static_cast<std::size_t>(end - stream);
  return {stream, size, size < bytes};
}

void PlaneDeflate::encode_plane(std::size_t begin, std::size_t end, BitWriter& out) {
  Survey survey(shuffled_.get(), begin, end, distances_, simd_);
  for (SurveySpan piece = survey.next(); piece.begin < piece.end; piece = survey.next())
    piece.encoded ? encode_piece(piece, out) : store(piece.begin, piece.end, out);
}

void PlaneDeflate::encode_piece(const SurveySpan& piece, BitWriter& out) {
  const unsigned char* data = shuffled_.get();
  auto* symbols = reinterpret_cast<Symbol*>(symbols_.get());
  find_matches(data, piece.begin, piece.end, distances_, starts_.data(), simd_);
  const Halves halves = parse(data, piece.begin, piece.end, distances_, starts_.data(), symbols, simd_);
  block_.plan(halves, distances_);
  if (block_.size_bits() >= 8 * (piece.end - piece.begin)) return store(piece.begin, piece.end, out);
  block_.write(halves, false, out, simd_);
}

void PlaneDeflate::store(std::size_t begin, std::size_t end, BitWriter& out) const {
  const unsigned char* data = shuffled_.get();
  for (std::size_t now = 0; begin < end; begin += now) {
    now = std::min(end - begin, kMaxStored);
    out.put(0, 3);
    unsigned char* place = out.align();
    const std::uint32_t lengths = static_cast<std::uint32_t>(now) | (~static_cast<std::uint32_t>(now) << 16);
    std::memcpy(place, &lengths, 4);
    std::memcpy(place + 4, data + begin, now);
    out.seek(place + 4 + now);
  }
}

}  // namespace damaris::codec
