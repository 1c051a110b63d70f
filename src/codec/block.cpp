#include "block.hpp"

#include <algorithm>
#include <cstring>

#include "huffman.hpp"

namespace damaris::codec {
namespace {

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

}  // namespace

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

}  // namespace damaris::codec
