#include "plane_deflate.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "shuffle.hpp"

namespace damaris::codec {
namespace {

constexpr unsigned kMaxCodeBits = 15;
constexpr std::size_t kInsertionSortMax = 32;  // up to this many symbols insertion sort is faster

struct Sorted {
  std::array<std::uint32_t, kMaxHuffmanSymbols> frequency;
  std::array<std::uint16_t, kMaxHuffmanSymbols> symbol;
  std::size_t count = 0;
};

// One pass of a radix sort by byte `shift` / 8 of the frequency.
void sort_pass(const Sorted& from, Sorted& to, unsigned shift) noexcept {
  std::array<std::uint16_t, 257> place = {};
  for (std::size_t i = 0; i < from.count; ++i) ++place[(from.frequency[i] >> shift & 255) + 1];
  for (std::size_t k = 1; k < place.size(); ++k) place[k] = static_cast<std::uint16_t>(place[k] + place[k - 1]);
  for (std::size_t i = 0; i < from.count; ++i) {
    const std::size_t target = place[from.frequency[i] >> shift & 255]++;
    to.frequency[target] = from.frequency[i];
    to.symbol[target] = from.symbol[i];
  }
  to.count = from.count;
}

void insertion_sort(Sorted& sorted) noexcept {
  for (std::size_t i = 1; i < sorted.count; ++i) {
    const std::uint32_t frequency = sorted.frequency[i];
    const std::uint16_t symbol = sorted.symbol[i];
    std::size_t k = i;
    for (; k > 0 && sorted.frequency[k - 1] > frequency; --k) {
      sorted.frequency[k] = sorted.frequency[k - 1];
      sorted.symbol[k] = sorted.symbol[k - 1];
    }
    sorted.frequency[k] = frequency;
    sorted.symbol[k] = symbol;
  }
}

// The symbols that occur, padded to at least two, rarest first.
void sort_symbols(const std::uint32_t* frequencies, std::size_t count, Sorted& result) noexcept {
  Sorted half;
  Sorted& all = result;
  all.count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (frequencies[i] == 0) continue;
    all.frequency[all.count] = frequencies[i];
    all.symbol[all.count++] = static_cast<std::uint16_t>(i);
  }
  for (std::size_t i = 0; all.count < 2; ++i) {
    if (frequencies[i] != 0) continue;
    all.frequency[all.count] = 1;
    all.symbol[all.count++] = static_cast<std::uint16_t>(i);
  }
  if (all.count <= kInsertionSortMax) return insertion_sort(all);
  sort_pass(all, half, 0);
  sort_pass(half, result, 8);
}

// Replaces ascending weights by code lengths, in place: the method of Moffat and Katajainen, which needs no explicit tree.
void minimum_redundancy(std::uint32_t* a, std::size_t n) noexcept {
  std::size_t root = 0, leaf = 2;
  a[0] += a[1];
  for (std::size_t next = 1; next < n - 1; ++next) {  // weights of inner nodes, then the index of each one's parent
    if (leaf >= n || a[root] < a[leaf]) {
      a[next] = a[root];
      a[root++] = static_cast<std::uint32_t>(next);
    } else {
      a[next] = a[leaf++];
    }
    if (leaf >= n || (root < next && a[root] < a[leaf])) {
      a[next] += a[root];
      a[root++] = static_cast<std::uint32_t>(next);
    } else {
      a[next] += a[leaf++];
    }
  }
  a[n - 2] = 0;
  for (std::size_t next = n - 2; next-- > 0;) a[next] = a[a[next]] + 1;  // depths of inner nodes
  std::size_t available = 1, used = 0, depth = 0, top = n - 1, next = n;
  while (available > 0) {
    while (top > 0 && a[top - 1] == depth) ++used, --top;
    while (available > used) a[--next] = static_cast<std::uint32_t>(depth), --available;
    available = 2 * used;
    ++depth;
    used = 0;
  }
}

using Counts = std::array<std::uint32_t, kMaxCodeBits + 1>;

// Shortens codes that are too long, and lengthens others until the code is complete again.
void limit_lengths(Counts& counts, unsigned limit) noexcept {
  std::uint32_t total = 0;
  for (unsigned k = 1; k <= limit; ++k) total += counts[k] << (limit - k);
  for (; total > 1u << limit; --total) {
    --counts[limit];
    unsigned k = limit - 1;
    while (counts[k] == 0) --k;
    --counts[k];
    counts[k + 1] += 2;
  }
}

constexpr unsigned kLiteralLimit = 12, kDistanceLimit = 7, kHeaderLimit = 7;
constexpr unsigned kEndOfBlock = 256;
constexpr unsigned kTableShift = 26;
constexpr std::array<std::uint8_t, 19> kHeaderOrder = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
constexpr std::array<std::uint16_t, 29> kLengthStarts = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};

struct Extra {
  std::uint16_t code;  // of deflate, relative to the first length code
  std::uint8_t bits;
  std::uint16_t value;
};

struct LengthCodes {
  std::array<Extra, 256> of = {};  // by length - 3
  constexpr LengthCodes() {
    std::uint16_t code = 0;
    for (std::uint16_t length = 3; length <= kMaxMatch; ++length) {
      while (code < 28 && kLengthStarts[code + 1u] <= length) ++code;
      const std::uint8_t bits = code < 8 || code == 28 ? 0 : static_cast<std::uint8_t>((code - 4) / 4);
      of[length - 3u] = {code, bits, static_cast<std::uint16_t>(length - kLengthStarts[code])};
    }
  }
};
constexpr LengthCodes kLengthCodes;

Extra distance_code(std::uint32_t distance) noexcept {
  if (distance <= 4) return {static_cast<std::uint16_t>(distance - 1), 0, 0};
  const unsigned top = 31u - static_cast<unsigned>(__builtin_clz(distance - 1));
  const unsigned bits = top - 1;
  return {static_cast<std::uint16_t>(2 * top + ((distance - 1) >> bits & 1)), static_cast<std::uint8_t>(bits),
          static_cast<std::uint16_t>((distance - 1) & ((1u << bits) - 1))};
}

std::uint32_t entry(std::uint16_t code, unsigned length, const Extra& extra) noexcept {
  return (code | static_cast<std::uint32_t>(extra.value) << length) | (length + extra.bits) << kTableShift;
}

// The number of leading codes up to the last used one, at least `least`.
std::size_t used(const std::uint8_t* lengths, std::size_t count, std::size_t least) noexcept {
  while (count > least && lengths[count - 1] == 0) --count;
  return count;
}

// Emits four symbols at once if their bits fit, which they nearly always do.
inline __attribute__((always_inline)) void emit_with(const std::uint32_t* table, const Symbols& symbols, BitWriter& out) noexcept {
  constexpr std::uint64_t kMask = (1u << kTableShift) - 1;
  BitWriter bits = out;  // a copy that can stay in registers
  std::size_t i = 0;
  for (; i + 4 <= symbols.count; i += 4) {
    std::uint64_t four = 0;
    std::memcpy(&four, symbols.data + i, sizeof four);
    const std::uint64_t a = table[four & 0xffff], b = table[four >> 16 & 0xffff], c = table[four >> 32 & 0xffff],
                        d = table[four >> 48];
    const auto na = static_cast<unsigned>(a >> kTableShift), nb = static_cast<unsigned>(b >> kTableShift);
    const auto nc = static_cast<unsigned>(c >> kTableShift), nd = static_cast<unsigned>(d >> kTableShift);
    const std::uint64_t ab = (a & kMask) | (b & kMask) << na, cd = (c & kMask) | (d & kMask) << nc;
    if (__builtin_expect(na + nb + nc + nd <= 56, 1)) {
      bits.put(ab | cd << (na + nb), na + nb + nc + nd);
    } else {
      bits.put(ab, na + nb);
      bits.put(cd, nc + nd);
    }
  }
  for (; i < symbols.count; ++i) bits.put(table[symbols.data[i]] & kMask, table[symbols.data[i]] >> kTableShift);
  out = bits;
}

#ifdef DAMARIS_CODEC_X86
// The same, with BMI2 shifts, which take their count from any register.
DAMARIS_TARGET_AVX2 void emit_bmi(const std::uint32_t* table, const Symbols& symbols, BitWriter& out) noexcept {
  emit_with(table, symbols, out);
}
#endif

void emit(const std::uint32_t* table, const Symbols& symbols, BitWriter& out, Simd simd) noexcept {
#ifdef DAMARIS_CODEC_X86
  if (simd != Simd::kPortable) return emit_bmi(table, symbols, out);
#endif
  (void)simd;
  emit_with(table, symbols, out);
}

constexpr std::size_t kMaxStored = 65535;
constexpr std::size_t kSlack = 384;  // how far inner loops may access beyond the end: the longest match and 64 bytes

// The header and each stored block add a few bytes.
std::size_t bound(std::size_t bytes, std::size_t planes) { return bytes + 16 * (bytes / Survey::kUnit + planes + 4) + kSlack; }

}  // namespace

void huffman_lengths(const std::uint32_t* frequencies, std::size_t count, unsigned limit, std::uint8_t* lengths) noexcept {
  Sorted sorted;
  sort_symbols(frequencies, count, sorted);
  minimum_redundancy(sorted.frequency.data(), sorted.count);
  Counts counts = {};
  for (std::size_t i = 0; i < sorted.count; ++i) ++counts[std::min(sorted.frequency[i], limit)];
  limit_lengths(counts, limit);
  std::fill_n(lengths, count, std::uint8_t{0});
  std::size_t i = 0;
  for (unsigned k = limit; k > 0; --k)
    for (std::uint32_t left = counts[k]; left > 0; --left) lengths[sorted.symbol[i++]] = static_cast<std::uint8_t>(k);
}

void huffman_codes(const std::uint8_t* lengths, std::size_t count, std::uint16_t* codes) noexcept {
  Counts counts = {}, next = {};
  for (std::size_t i = 0; i < count; ++i) ++counts[lengths[i]];
  counts[0] = 0;
  for (unsigned k = 1; k <= kMaxCodeBits; ++k) next[k] = (next[k - 1] + counts[k - 1]) << 1;
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = 0;
    if (lengths[i] == 0) continue;
    std::uint32_t code = next[lengths[i]]++;
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);  // reversed within 16 bits
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    codes[i] = static_cast<std::uint16_t>(code >> (16 - lengths[i]));
  }
}

void Block::plan(const Halves& halves, const Distances& distances) noexcept {
  count(halves);
  join(distances);
  huffman_lengths(literals_.data(), kLiteralCodes, kLiteralLimit, lengths_.data());
  std::array<std::uint8_t, kDistanceCodes> distance_lengths;
  huffman_lengths(distances_.data(), kDistanceCodes, kDistanceLimit, distance_lengths.data());
  literal_count_ = used(lengths_.data(), kLiteralCodes, 257);
  distance_count_ = used(distance_lengths.data(), kDistanceCodes, 1);
  huffman_codes(lengths_.data(), literal_count_, literal_codes_.data());
  huffman_codes(distance_lengths.data(), distance_count_, distance_codes_.data());
  std::copy_n(distance_lengths.begin(), distance_count_, lengths_.begin() + static_cast<std::ptrdiff_t>(literal_count_));
  plan_header();
  fill_table(distances);
  add_up();
}

// Four tables, so that equal consecutive symbols do not wait for each other's increment.
void Block::count(const Halves& halves) noexcept {
  std::array<std::array<std::uint16_t, kSymbolKinds>, 4> tables = {};
  for (const Symbols& symbols : halves) {
    std::size_t i = 0;
    for (; i + 4 <= symbols.count; i += 4) {
      std::uint64_t four = 0;
      std::memcpy(&four, symbols.data + i, sizeof four);
      ++tables[0][four & 0xffff];
      ++tables[1][four >> 16 & 0xffff];
      ++tables[2][four >> 32 & 0xffff];
      ++tables[3][four >> 48];
    }
    for (; i < symbols.count; ++i) ++tables[0][symbols.data[i]];
  }
  for (std::size_t s = 0; s < kSymbolKinds; ++s)
    counts_[s] = std::uint32_t{tables[0][s]} + tables[1][s] + tables[2][s] + tables[3][s];
}

void Block::join(const Distances& distances) noexcept {
  std::copy_n(counts_.begin(), 256, literals_.begin());
  std::fill(literals_.begin() + 256, literals_.end(), 0u);
  literals_[kEndOfBlock] = 1;
  for (std::size_t k = 0; k < 256; ++k) literals_[257u + kLengthCodes.of[k].code] += counts_[kLengthBase + k];
  distances_.fill(0);
  for (std::size_t d = 0; d < distances.count; ++d)
    distances_[distance_code(distances.values[d]).code] += counts_[kDistanceBase + d];
}

// Deflate run-length encodes the code lengths with a small Huffman code.
void Block::plan_header() noexcept {
  header_count_ = 0;
  const std::size_t count = literal_count_ + distance_count_;
  for (std::size_t i = 0; i < count;) {
    std::size_t run = 1;
    while (i + run < count && lengths_[i + run] == lengths_[i]) ++run;
    add_run(lengths_[i], run);
    i += run;
  }
  std::array<std::uint32_t, 19> frequencies = {};
  for (std::size_t i = 0; i < header_count_; ++i) ++frequencies[header_[i].symbol];
  huffman_lengths(frequencies.data(), 19, kHeaderLimit, header_lengths_.data());
  huffman_codes(header_lengths_.data(), 19, header_codes_.data());
  header_code_count_ = 19;
  while (header_code_count_ > 4 && header_lengths_[kHeaderOrder[header_code_count_ - 1]] == 0) --header_code_count_;
}

void Block::add_run(std::uint8_t length, std::size_t run) noexcept {
  const auto add = [this](unsigned symbol, unsigned bits, std::size_t extra) {
    header_[header_count_++] = {static_cast<std::uint8_t>(symbol), static_cast<std::uint8_t>(bits),
                                static_cast<std::uint8_t>(extra)};
  };
  if (length != 0) add(length, 0, 0), --run;
  while (length != 0 && run >= 3) {
    const std::size_t now = std::min<std::size_t>(run, 6);
    add(16, 2, now - 3), run -= now;
  }
  while (length == 0 && run >= 3) {
    const std::size_t now = std::min<std::size_t>(run, 138);
    now <= 10 ? add(17, 3, now - 3) : add(18, 7, now - 11);
    run -= now;
  }
  for (; run > 0; --run) add(length, 0, 0);
}

void Block::fill_table(const Distances& distances) noexcept {
  const Extra none = {0, 0, 0};
  for (std::size_t s = 0; s < 256; ++s) table_[s] = entry(literal_codes_[s], lengths_[s], none);
  for (std::size_t k = 0; k < 256; ++k) {
    const Extra& extra = kLengthCodes.of[k];
    const std::size_t code = 257u + extra.code;
    table_[kLengthBase + k] = code < literal_count_ ? entry(literal_codes_[code], lengths_[code], extra) : 0;
  }
  for (std::size_t d = 0; d < distances.count; ++d) {
    const Extra extra = distance_code(distances.values[d]);
    const bool is_used = extra.code < distance_count_;
    table_[kDistanceBase + d] = is_used ? entry(distance_codes_[extra.code], lengths_[literal_count_ + extra.code], extra) : 0;
  }
  for (std::size_t d = distances.count; d < kMaxDistances; ++d) table_[kDistanceBase + d] = 0;
}

void Block::add_up() noexcept {
  size_bits_ = 3 + 5 + 5 + 4 + 3 * header_code_count_ + lengths_[kEndOfBlock];
  for (std::size_t i = 0; i < header_count_; ++i) size_bits_ += header_lengths_[header_[i].symbol] + header_[i].extra_bits;
  for (std::size_t s = 0; s < kSymbolKinds; ++s) size_bits_ += std::uint64_t{counts_[s]} * (table_[s] >> kTableShift);
}

void Block::write_header(bool last, BitWriter& out) const noexcept {
  out.put((last ? 1u : 0u) | 2u << 1, 3);
  out.put((literal_count_ - 257) | (distance_count_ - 1) << 5 | (header_code_count_ - 4) << 10, 14);
  for (std::size_t i = 0; i < header_code_count_; ++i) out.put(header_lengths_[kHeaderOrder[i]], 3);
  for (std::size_t i = 0; i < header_count_; ++i) {
    const CodeLength& item = header_[i];
    const unsigned length = header_lengths_[item.symbol];
    out.put(header_codes_[item.symbol] | static_cast<std::uint64_t>(item.extra) << length, length + item.extra_bits);
  }
}

void Block::write(const Halves& halves, bool last, BitWriter& out, Simd simd) const noexcept {
  write_header(last, out);
  for (const Symbols& symbols : halves) emit(table_.data(), symbols, out, simd);
  out.put(literal_codes_[kEndOfBlock], lengths_[kEndOfBlock]);
}

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
