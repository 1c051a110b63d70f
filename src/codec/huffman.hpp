// Huffman codes of limited length, canonical as deflate wants them.
// Used by: the byte-plane deflate, one worker thread each.
// Before it: how often each symbol occurs. After it: the block's header and the emitter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::codec {

constexpr std::size_t kMostHuffmanSymbols = 288;

// Lengths for `count` symbols (at most kMostHuffmanSymbols), none above `limit` bits; 0 for what does not occur.
// At least two symbols get a code, so that the code is complete. `count` >= 2; each frequency below 65536, their sum below 2^32.
void huffman_lengths(const std::uint32_t* frequencies, std::size_t count, unsigned limit, std::uint8_t* lengths) noexcept;

// The codes that belong to the lengths, their first bit lowest.
void huffman_codes(const std::uint8_t* lengths, std::size_t count, std::uint16_t* codes) noexcept;

}  // namespace damaris::codec
