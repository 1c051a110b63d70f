#include "trace/chunks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace damaris::trace {
namespace {

std::size_t slots_of_text(const Slot& slot) { return (slot.bytes + sizeof(Slot) - 1) / sizeof(Slot); }

// How many slots are filled. An empty one before them is damaged, but for that of a `more` whose call has not been written yet.
std::size_t filled(dt_trace& found, const Slot* slots, std::size_t room) {
  std::size_t end = room;
  while (end > 0 && slots[end - 1].function == 0) --end;
  std::size_t count = 0;
  while (count < end) {
    const bool is_empty = slots[count].function == 0;
    if (is_empty && count + 2 >= end) break;
    if (is_empty) note(found, "a slot is damaged");
    const std::size_t whole = 1 + behind(slots[count]);
    if (whole > room - count) break;
    count += whole;
  }
  return count;
}

// What is at the place, beginning with a head. Nothing at the file's end.
std::optional<Piece> piece_at(dt_trace& found, Files& files, const Place& place) {
  const std::vector<Slot>& slots = files.chunk(place);
  if (slots.size() < kHead) return std::nullopt;
  Piece piece = {{}, place, slots.size(), 0};
  std::memcpy(&piece.head, slots.data(), sizeof piece.head);
  if (piece.is_sound()) {
    const std::size_t most = std::min(slots.size(), piece.head.bytes / sizeof(Slot));
    piece.count = filled(found, slots.data() + kHead, most - kHead);
  }
  return piece;
}

// Whose file it is: a damaged head does not decide.
std::uint64_t process_of(const std::vector<Piece>& pieces) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const Piece& piece : pieces)
    if (piece.is_sound()) ++votes[piece.head.process];
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  return votes.empty() ? 0 : std::max_element(votes.begin(), votes.end(), more)->first;
}

}  // namespace

void note(dt_trace& found, const std::string& what) {
  if (found.damage.empty()) found.damage = what;
}

std::size_t behind(const Slot& slot) {
  if (slot.function == text) return slots_of_text(slot);
  if (slot.function == requested || slot.function == completed) return 0;
  return (slot.flags & has_more) != 0 ? 1 : 0;
}

std::vector<Piece> chunks_in_file(dt_trace& found, Files& files, std::size_t file) {
  std::vector<Piece> pieces;
  for (std::uint64_t at = 0;; at += kChunkBytes) {
    const std::optional<Piece> piece = piece_at(found, files, {file, at, kChunkBytes});
    if (!piece) return pieces;
    if (piece->head.bytes == 0 && piece->head.version == 0) continue;  // of a thread that was killed before its first call
    pieces.push_back(*piece);
  }
}

// What follows a damaged head in a log cannot be found.
std::vector<Piece> chunks_in_log(dt_trace& found, Files& files, std::size_t file, const dt_piece& piece) {
  std::vector<Piece> pieces;
  for (std::uint64_t at = 0; at < piece.bytes;) {
    const Place place = {file, piece.offset + at, std::min<std::size_t>(kChunkBytes, piece.bytes - at)};
    const std::optional<Piece> chunk = piece_at(found, files, place);
    if (!chunk) break;
    pieces.push_back(*chunk);
    pieces.back().place.bytes = pieces.back().is_sound() ? chunk->head.bytes : place.bytes;
    pieces.back().slots = kChunkBytes / sizeof(Slot);
    if (!chunk->is_sound()) break;
    at += chunk->head.bytes;
  }
  return pieces;
}

Chunks chunks_of(dt_trace& found, const std::vector<Piece>& pieces) {
  Chunks chunks;
  std::size_t damaged = 0;
  std::uint64_t lost_chunks = 0, lost_slots = 0;
  const std::uint64_t process = process_of(pieces);
  for (const Piece& piece : pieces) {
    if (!piece.is_sound() || piece.head.process != process) {
      ++damaged;
      continue;
    }
    if (piece.slots < kChunkBytes / sizeof(Slot)) note(found, "it ends within the chunk at byte " + std::to_string(piece.place.at));
    lost_chunks = std::max(lost_chunks, piece.head.lost_chunks);
    lost_slots = std::max(lost_slots, piece.head.lost_slots);
    const Chunk chunk = {piece.place, piece.count};
    Chunk& known = chunks.emplace(std::make_pair(piece.head.thread, piece.head.sequence), chunk).first->second;
    if (chunk.count > known.count) known = chunk;
  }
  if (damaged > 0)
    note(found, std::to_string(damaged) + " of " + std::to_string(pieces.size()) + " chunks are damaged, their calls, up to " +
                    std::to_string(damaged * (kChunkBytes / sizeof(Slot) - kHead)) + ", are missing");
  if (lost_chunks > 0) {
    const std::string& words = found.words.emplace_back("the file system had no room for " + std::to_string(lost_chunks) +
                                                        (lost_chunks == 1 ? " chunk of calls" : " chunks of calls"));
    found.texts.push_back({loss, 0, static_cast<std::int64_t>(lost_slots), 0, words.data(), words.size()});
  }
  return chunks;
}

std::uint32_t version_of(const std::vector<Piece>& pieces) {
  if (pieces.empty()) return 0;
  const ChunkHead& head = pieces.front().head;
  return std::memcmp(head.magic, kMagic, sizeof head.magic) == 0 ? head.version : 0;
}

}  // namespace damaris::trace
