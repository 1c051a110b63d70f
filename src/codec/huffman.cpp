#include "huffman.hpp"

#include <algorithm>
#include <array>

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

}  // namespace damaris::codec
