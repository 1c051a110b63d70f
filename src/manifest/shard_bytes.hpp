// The bytes of a shard, besides those that encoded_files.hpp makes: little-endian, as the memory of all machines that we support.
// Used by: shard.cpp, shard_reader.cpp.
// Before it: encoded_files.hpp. After it: a file next to the manifest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace damaris::manifest {

constexpr char kShardMagic[] = "DMSHARD1";  // the first bytes of the file
constexpr std::size_t kMagicBytes = sizeof kShardMagic - 1;

// Before the bytes of facts, or of a step.
struct FrameHeader {
  char kind[4];
  std::uint32_t checksum;  // CRC-32 of the bytes
  std::uint64_t bytes;
};
constexpr char kFactsFrame[] = "fact", kStepFrame[] = "step";

// Before the values of a server, in the frame of a step.
struct PartHeader {
  std::uint64_t facts_at;  // in the shard, the header of the server's facts
  std::uint64_t bytes;
};

}  // namespace damaris::manifest
