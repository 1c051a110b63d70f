// The bytes of a stream log: m files that hold nothing but what was appended, and an index that says whose bytes lie where.
// Used by: writer.hpp on the server's work thread, reader.hpp in tools; python/damaris/stream_log.py reads the same.
// Before it: appends of clients. After it: files that need no server to be read.
//
// <basename>.<host>.s<server>.<log>.<file>.stream        bytes; an append's offset in the log is its offset in this file
// <basename>.<host>.s<server>.<log>.stream-index         IndexHeader, then IndexEntries, each written after its bytes
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "codec/checksum.hpp"

namespace damaris::logs {

inline constexpr char kMagic[8] = {'D', 'C', 'S', 'T', 'R', 'E', 'A', 'M'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr char kIndexSuffix[] = ".stream-index", kDataSuffix[] = ".stream";

struct IndexHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t files;  // of the log on this server
  std::uint64_t block_bytes;
  std::int32_t server;
  std::uint32_t unused[3];
  char host[72];
  char log[136];
  std::uint32_t unused_too;
  std::uint32_t seal;  // CRC-32 of the bytes before
};
static_assert(sizeof(IndexHeader) == 256 && std::is_trivially_copyable_v<IndexHeader>);

enum class EntryKind : std::uint32_t {
  begin = 1,   // a server begins to write: `offset` is the number of its run
  append = 2,  // `bytes` bytes of `stream` at `offset` of `file`: one append, or several that follow each other there
  end = 3,     // the server has ended, and everything is durable
};

struct IndexEntry {
  EntryKind kind;
  std::uint32_t file;
  std::int64_t stream;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t checksum;  // CRC-32 of the bytes
  std::uint32_t serial;    // number of the entry in the index
  std::uint32_t unused;
  std::uint32_t seal;  // CRC-32 of the bytes before
};
static_assert(sizeof(IndexEntry) == 48 && std::is_trivially_copyable_v<IndexEntry>);

template <class Sealed>
std::uint32_t seal_of(const Sealed& sealed) noexcept {
  static_assert(offsetof(Sealed, seal) + sizeof sealed.seal == sizeof sealed);
  return codec::crc32(&sealed, offsetof(Sealed, seal));
}

// The names of the files of a log on one server.
struct Names {
  std::string start;  // <basename>.<host>.s<server>.<log>

  std::string index() const { return start + kIndexSuffix; }
  std::string data(std::uint32_t file) const { return start + "." + std::to_string(file) + kDataSuffix; }
};

}  // namespace damaris::logs
