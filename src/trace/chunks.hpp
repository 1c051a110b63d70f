// The chunks of a process: which are whole, where they are, and what is wrong with the others.
// Used by: kernel.cpp.
// Before it: files that the recorder, or the server of a pool, has written. After it: slots to decode.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/kernel.h"
#include "trace/slot.hpp"

struct dt_trace {
  std::vector<dt_call> calls;
  std::vector<dt_request> requests;
  std::vector<dt_block> blocks;
  std::vector<dt_text> texts;
  std::deque<std::string> words;  // of the texts
  std::string damage;
};

namespace damaris::trace {

constexpr std::size_t kHead = sizeof(ChunkHead) / sizeof(Slot);

struct Place {
  std::size_t file;  // which
  std::uint64_t at;
  std::size_t bytes;
};
struct Chunk {
  Place place;
  std::size_t count;  // of slots that are filled
};
using Chunks = std::map<std::pair<std::uint32_t, std::uint32_t>, Chunk>;  // by thread and sequence

// Read by system calls: a mapping of a file on a full disk, or one that shrinks, is a signal.
class Files {
 public:
  Files() = default;
  ~Files() {
    for (const auto& [path, descriptor] : descriptors_) ::close(descriptor);
  }
  Files(const Files&) = delete;
  // Its number; nothing, with errno, if it cannot be read.
  std::optional<std::size_t> open(const char* path) {
    const auto same = [path](const auto& one) { return one.first == path; };
    const auto known = std::find_if(descriptors_.begin(), descriptors_.end(), same);
    if (known != descriptors_.end()) return static_cast<std::size_t>(known - descriptors_.begin());
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return std::nullopt;
    descriptors_.emplace_back(path, descriptor);
    return descriptors_.size() - 1;
  }
  // The chunk at this place; its slots are those that the file has.
  const std::vector<Slot>& chunk(const Place& place) {
    slots_.resize(place.bytes / sizeof(Slot));
    std::size_t got = 0;
    auto* const bytes = reinterpret_cast<char*>(slots_.data());
    while (got < place.bytes) {
      const ssize_t more =
          ::pread(descriptors_[place.file].second, bytes + got, place.bytes - got, static_cast<off_t>(place.at + got));
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    slots_.resize(got / sizeof(Slot));
    return slots_;
  }

 private:
  std::vector<std::pair<std::string, int>> descriptors_;  // by number
  std::vector<Slot> slots_;
};

void note(dt_trace& found, const std::string& what);
// Slots behind this one that belong to it.
std::size_t behind(const Slot& slot);

// What a file has at the place of a chunk.
struct Piece {
  ChunkHead head;
  Place place;
  std::size_t slots, count;  // those that are there, and those that are filled
  bool is_sound() const {
    return std::memcmp(head.magic, kMagic, sizeof head.magic) == 0 && head.version == kVersion && head.bytes >= sizeof head &&
           head.bytes <= kChunkBytes && head.bytes % sizeof(Slot) == 0;
  }
};

// All that is in the file as a whole, and in a part of a log, damaged or not.
std::vector<Piece> chunks_in_file(dt_trace& found, Files& files, std::size_t file);
std::vector<Piece> chunks_in_log(dt_trace& found, Files& files, std::size_t file, const dt_piece& piece);
// Those that are whole, each once; notes what is not.
Chunks chunks_of(dt_trace& found, const std::vector<Piece>& pieces);
// 0: it is no file of the recorder.
std::uint32_t version_of(const std::vector<Piece>& pieces);

}  // namespace damaris::trace
