// The other side of the codecs for tests: zlib's own inflate, and the shuffle undone byte by byte.
#pragma once

#include <zlib.h>

#include <cstring>
#include <vector>

#include "codec/chunk.hpp"

using Bytes = std::vector<unsigned char>;

// What a reader gets for the stream; empty when zlib refuses it or when it is not exactly as long as the chunk.
inline Bytes inflated(const damaris::codec::Encoded& encoded, std::size_t count, std::size_t size) {
  Bytes shuffled(count * size + 1);
  z_stream stream = {};
  inflateInit(&stream);
  stream.next_in = static_cast<Bytef*>(const_cast<void*>(encoded.data));
  stream.avail_in = static_cast<uInt>(encoded.bytes);
  stream.next_out = shuffled.data();
  stream.avail_out = static_cast<uInt>(shuffled.size());
  const int result = inflate(&stream, Z_FINISH);  // checks the sum at the end too
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0 && stream.total_out == count * size;
  inflateEnd(&stream);
  Bytes bytes;
  if (!whole) return bytes;
  bytes.resize(count * size);
  for (std::size_t b = 0; b < size; ++b)
    for (std::size_t i = 0; i < count; ++i) bytes[i * size + b] = shuffled[b * count + i];
  return bytes;
}
