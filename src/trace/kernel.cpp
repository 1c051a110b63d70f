#include "trace/kernel.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/requests.hpp"
#include "trace/slot.hpp"

using damaris::trace::ChunkHead;
using damaris::trace::Slot;
namespace trace = damaris::trace;

struct dt_trace {
  std::vector<dt_call> calls;
  std::vector<dt_request> requests;
  std::vector<dt_block> blocks;
  std::vector<dt_text> texts;
  std::deque<std::string> words;  // of the texts
  std::string damage;
};

namespace {

constexpr std::size_t kHead = sizeof(ChunkHead) / sizeof(Slot);

struct Chunk {
  std::uint64_t at;   // in the file
  std::size_t count;  // of slots that are filled
};
using Chunks = std::map<std::pair<std::uint32_t, std::uint32_t>, Chunk>;  // by thread and sequence

std::size_t slots_of_text(const Slot& slot) { return (slot.bytes + sizeof(Slot) - 1) / sizeof(Slot); }

// Slots behind this one that belong to it.
std::size_t behind(const Slot& slot) {
  if (slot.function == trace::text) return slots_of_text(slot);
  if (slot.function == trace::requested || slot.function == trace::completed) return 0;
  return (slot.flags & trace::has_more) != 0 ? 1 : 0;
}

void note(dt_trace& found, const std::string& what) {
  if (found.damage.empty()) found.damage = what;
}

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

// Read by system calls: a mapping of a file on a full disk, or one that shrinks, is a signal.
class File {
 public:
  explicit File(const char* path) : descriptor_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  bool is_open() const { return descriptor_ >= 0; }
  // The chunk at this place; its slots are those that the file has.
  const std::vector<Slot>& chunk(std::uint64_t at) {
    slots_.resize(trace::kChunkBytes / sizeof(Slot));
    std::size_t got = 0;
    auto* const bytes = reinterpret_cast<char*>(slots_.data());
    while (got < trace::kChunkBytes) {
      const ssize_t more = ::pread(descriptor_, bytes + got, trace::kChunkBytes - got, static_cast<off_t>(at + got));
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    slots_.resize(got / sizeof(Slot));
    return slots_;
  }

 private:
  int descriptor_;
  std::vector<Slot> slots_;
};

// What a file has at the place of a chunk.
struct Piece {
  ChunkHead head;
  std::uint64_t at;
  std::size_t slots, count;  // those that are there, and those that are filled
  bool is_sound() const {
    return std::memcmp(head.magic, trace::kMagic, sizeof head.magic) == 0 && head.version == trace::kVersion &&
           head.bytes == trace::kChunkBytes;
  }
};

std::vector<Piece> pieces_of(dt_trace& found, File& file) {
  std::vector<Piece> pieces;
  for (std::uint64_t at = 0;; at += trace::kChunkBytes) {
    const std::vector<Slot>& slots = file.chunk(at);
    if (slots.size() < kHead) return pieces;
    Piece piece = {{}, at, slots.size(), 0};
    std::memcpy(&piece.head, slots.data(), sizeof piece.head);
    if (piece.head.bytes == 0 && piece.head.version == 0) continue;  // of a thread that was killed before its first call
    if (piece.is_sound()) piece.count = filled(found, slots.data() + kHead, slots.size() - kHead);
    pieces.push_back(piece);
  }
}

// 0: it is no file of the recorder.
std::uint32_t version_of(File& file) {
  ChunkHead head = {};
  const std::vector<Slot>& slots = file.chunk(0);
  if (slots.size() >= kHead) std::memcpy(&head, slots.data(), sizeof head);
  return std::memcmp(head.magic, trace::kMagic, sizeof head.magic) == 0 ? head.version : 0;
}

// Whose file it is: a damaged head does not decide.
std::uint64_t process_of(const std::vector<Piece>& pieces) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const Piece& piece : pieces)
    if (piece.is_sound()) ++votes[piece.head.process];
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  return votes.empty() ? 0 : std::max_element(votes.begin(), votes.end(), more)->first;
}

Chunks chunks_of(dt_trace& found, File& file) {
  Chunks chunks;
  std::size_t damaged = 0;
  std::uint64_t lost_chunks = 0, lost_slots = 0;
  const std::vector<Piece> pieces = pieces_of(found, file);
  const std::uint64_t process = process_of(pieces);
  for (const Piece& piece : pieces) {
    if (!piece.is_sound() || piece.head.process != process) {
      ++damaged;
      continue;
    }
    if (piece.slots < trace::kChunkBytes / sizeof(Slot))
      note(found, "it ends within the chunk at byte " + std::to_string(piece.at));
    lost_chunks = std::max(lost_chunks, piece.head.lost_chunks);
    lost_slots = std::max(lost_slots, piece.head.lost_slots);
    const Chunk chunk = {piece.at, piece.count};
    Chunk& known = chunks.emplace(std::make_pair(piece.head.thread, piece.head.sequence), chunk).first->second;
    if (chunk.count > known.count) known = chunk;
  }
  if (damaged > 0)
    note(found, std::to_string(damaged) + " of " + std::to_string(pieces.size()) + " chunks are damaged, their calls, up to " +
                    std::to_string(damaged * (trace::kChunkBytes / sizeof(Slot) - kHead)) + ", are missing");
  if (lost_chunks > 0) {
    const std::string& words = found.words.emplace_back("the file system had no room for " + std::to_string(lost_chunks) +
                                                        (lost_chunks == 1 ? " chunk of calls" : " chunks of calls"));
    found.texts.push_back({trace::loss, 0, static_cast<std::int64_t>(lost_slots), 0, words.data(), words.size()});
  }
  return chunks;
}

dt_call call_of(const Slot& slot, std::uint32_t thread) {
  dt_call call = {};
  std::uint64_t duration = slot.duration;
  call.bytes = slot.bytes;
  if ((slot.flags & trace::has_more) != 0) {
    const Slot& more = (&slot)[1];
    if (slot.duration == trace::kLong) duration = more.begin;
    call.flags = slot.flags & trace::failed;
    if (call.flags != 0) call.error = static_cast<std::int32_t>(more.place);
    if (slot.bytes == trace::kLong && call.flags == 0) call.bytes = static_cast<std::uint64_t>(more.place);
  }
  call.begin = slot.begin;
  call.end = slot.begin + duration;
  call.parent = -1;
  call.offset = slot.place;
  call.object = slot.object;
  call.thread = thread;
  call.function = slot.function;
  call.depth = slot.depth;
  return call;
}

// A write in which the process died.
dt_call cut_call_of(const Slot& slot, std::uint32_t thread) {
  Slot cut = slot;
  cut.function = static_cast<std::uint16_t>(slot.duration);
  cut.duration = 0;
  cut.flags = 0;
  dt_call call = call_of(cut, thread);
  call.flags = dt_cut;
  return call;
}

// A slot is written when its call ends: those inside it come before it, one level deeper.
class Parents {
 public:
  explicit Parents(std::vector<dt_call>& calls) : calls_(calls), waiting_(257) {}
  void add(std::size_t index) {
    const unsigned depth = calls_[index].depth;
    for (const std::size_t child : waiting_[depth + 1]) {
      const bool is_inside = calls_[child].begin >= calls_[index].begin && calls_[child].end <= calls_[index].end;
      if (is_inside) calls_[child].parent = static_cast<std::int64_t>(index);
    }
    for (unsigned deeper = depth + 1; deeper < waiting_.size() && !waiting_[deeper].empty(); ++deeper) waiting_[deeper].clear();
    waiting_[depth].push_back(index);
  }

 private:
  std::vector<dt_call>& calls_;
  std::vector<std::vector<std::size_t>> waiting_;  // by depth: calls whose parent has not come
};

// Between the last call of a thread before chunks that are missing and the first one behind them.
void note_gap(dt_trace& found, std::uint32_t thread, std::size_t first, std::size_t next) {
  if (next >= found.calls.size()) return;
  const std::uint64_t before = next > first ? found.calls[next - 1].end : 0;
  found.texts.push_back({dt_gap, thread, static_cast<std::int64_t>(found.calls[next].begin), before, "", 0});
}

// Returns what calls say of requests and of blocks.
std::vector<trace::RequestSlot> decode(dt_trace& found, File& file, const Chunks& chunks, std::size_t functions) {
  std::vector<trace::RequestSlot> requests;
  std::size_t most = 0, first = 0;
  for (const auto& [key, chunk] : chunks) most += chunk.count;
  found.calls.reserve(most);
  std::unique_ptr<Parents> parents;
  std::int64_t thread = -1, sequence = -1;
  for (const auto& [key, chunk] : chunks) {
    if (thread != key.first) {
      parents = std::make_unique<Parents>(found.calls);
      thread = key.first;
      sequence = -1;
      first = found.calls.size();
    }
    const bool lacks = static_cast<std::int64_t>(key.second) != ++sequence;
    const std::size_t next = found.calls.size();
    if (lacks) {
      note(found, "thread " + std::to_string(thread) + " lacks chunk " + std::to_string(sequence));
      sequence = key.second;
    }
    const std::vector<Slot>& all = file.chunk(chunk.at);
    const Slot* const slots = all.data() + kHead;
    if (all.size() < kHead + chunk.count) continue;  // somebody has cut the file since
    for (std::size_t i = 0; i < chunk.count; i += 1 + behind(slots[i])) {
      const Slot& slot = slots[i];
      if (slot.function == 0) continue;
      if (slot.function == trace::text) {
        const std::string& words = found.words.emplace_back(reinterpret_cast<const char*>(&slot + 1), slot.bytes);
        found.texts.push_back({slot.flags, slot.object, slot.place, slot.begin, words.data(), words.size()});
      } else if (slot.function == trace::started && slot.duration >= trace::kFirstCall && slot.duration < functions) {
        found.calls.push_back(cut_call_of(slot, key.first));
        parents->add(found.calls.size() - 1);
      } else if (slot.function >= trace::kFirstCall && slot.function < functions) {
        found.calls.push_back(call_of(slot, key.first));
        parents->add(found.calls.size() - 1);
      } else if (slot.function == trace::requested || slot.function == trace::completed || slot.function == trace::of_block) {
        if (found.calls.size() > first) requests.push_back({found.calls.size() - 1, slot});
      } else {
        note(found, "a slot of thread " + std::to_string(thread) + " is damaged");
      }
    }
    if (lacks) note_gap(found, key.first, first, next);
  }
  return requests;
}

bool is_earlier(const dt_call& x, const dt_call& y) {
  return std::tie(x.thread, x.begin, x.depth) < std::tie(y.thread, y.begin, y.depth);
}

// Where each call goes when a call comes before those inside it. In the order of slots it comes behind them, and they are a range: it goes to
// the begin of that, and all move behind those around them.
std::vector<std::size_t> places(const std::vector<dt_call>& calls) {
  std::vector<std::size_t> inside(calls.size(), 1), around(calls.size(), 0), place(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].parent >= 0) inside[static_cast<std::size_t>(calls[i].parent)] += inside[i];
  for (std::size_t i = calls.size(); i-- > 0;) {
    if (calls[i].parent >= 0) around[i] = around[static_cast<std::size_t>(calls[i].parent)] + 1;
    place[i] = i + 1 - inside[i] + around[i];
  }
  return place;
}

void put_at(std::vector<dt_call>& calls, std::vector<trace::RequestSlot>& requests, const std::vector<std::size_t>& place) {
  std::vector<dt_call> sorted(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    dt_call& call = sorted[place[i]] = calls[i];
    if (call.parent >= 0) call.parent = static_cast<std::int64_t>(place[static_cast<std::size_t>(call.parent)]);
  }
  calls = std::move(sorted);
  for (trace::RequestSlot& one : requests) one.call = place[one.call];
}

// Whether they are numbers of places, each once.
bool is_permutation(const std::vector<std::size_t>& place) {
  std::vector<bool> taken(place.size());
  for (const std::size_t one : place) {
    if (one >= place.size() || taken[one]) return false;
    taken[one] = true;
  }
  return true;
}

void sort_calls(std::vector<dt_call>& calls, std::vector<trace::RequestSlot>& requests) {
  std::vector<std::size_t> place = places(calls);
  if (is_permutation(place)) put_at(calls, requests, place);
  if (std::is_sorted(calls.begin(), calls.end(), is_earlier)) return;
  // Damaged slots, or threads that went on with the chunk of another.
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return is_earlier(calls[a], calls[b]); });
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  put_at(calls, requests, place);
}

void split_blocks(dt_trace& found, std::vector<trace::RequestSlot>& slots) {
  const auto first =
      std::stable_partition(slots.begin(), slots.end(), [](const auto& one) { return one.slot.function != trace::of_block; });
  for (auto one = first; one != slots.end(); ++one)
    found.blocks.push_back({static_cast<std::int64_t>(one->call), one->slot.place, one->slot.begin});
  slots.erase(first, slots.end());
}

// The descriptors' own offsets, from open, seek, read and write in the order of time. Unknown for O_APPEND.
void sum_offsets(dt_trace& found, const std::uint8_t* roles) {
  std::unordered_map<std::uint32_t, std::int64_t> offsets;
  for (const dt_text& text : found.texts)
    if (text.what == trace::path) offsets[text.object] = (text.place & O_APPEND) != 0 ? -1 : static_cast<std::int64_t>(text.begin);
  std::vector<std::size_t> order(found.calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto begins_earlier = [&](std::size_t a, std::size_t b) { return found.calls[a].begin < found.calls[b].begin; };
  if (!std::is_sorted(order.begin(), order.end(), begins_earlier)) std::stable_sort(order.begin(), order.end(), begins_earlier);
  for (const std::size_t i : order) {
    dt_call& call = found.calls[i];
    const std::uint8_t role = roles[call.function];
    if ((role & dt_offset) == 0) {
      if (call.offset == trace::kNowhere) call.offset = -1;
      continue;
    }
    std::int64_t& offset = offsets[call.object];
    if ((role & dt_seeks) != 0 && (call.flags & dt_failed) == 0 && offset >= 0 && call.offset >= 0) offset = call.offset;
    if (call.offset != trace::kImplicit) {
      call.offset = std::max<std::int64_t>(call.offset, -1);
      continue;
    }
    call.offset = offset;
    if ((role & dt_sequential) != 0 && offset >= 0) offset += static_cast<std::int64_t>(call.bytes);
  }
}

}  // namespace

dt_trace* dt_open(const char* path, const std::uint8_t* roles, std::size_t functions, char* error, std::size_t room) try {
  auto found = std::make_unique<dt_trace>();
  File file(path);
  if (!file.is_open()) {
    std::snprintf(error, room, "cannot read %s: %s", path, std::strerror(errno));
    return nullptr;
  }
  const Chunks chunks = chunks_of(*found, file);
  if (const std::uint32_t version = version_of(file); chunks.empty() && version != 0 && version != trace::kVersion) {
    std::snprintf(error, room, "%s is of version %u of the recorder, this damaris reads %u: use the one that recorded it", path,
                  version, trace::kVersion);
    return nullptr;
  }
  if (chunks.empty()) {
    std::snprintf(error, room, "%s is no file of the recorder, or is cut before its first call", path);
    return nullptr;
  }
  std::vector<trace::RequestSlot> requests = decode(*found, file, chunks, functions);
  sort_calls(found->calls, requests);
  split_blocks(*found, requests);
  found->requests = trace::pair_requests(found->calls, std::move(requests));
  sum_offsets(*found, roles);
  return found.release();
} catch (const std::bad_alloc&) {
  std::snprintf(error, room, "there is no memory to decode %s", path);
  return nullptr;
}

void dt_close(dt_trace* trace) { delete trace; }
const dt_call* dt_calls(const dt_trace* trace, std::size_t* count) {
  *count = trace->calls.size();
  return trace->calls.data();
}
const dt_request* dt_requests(const dt_trace* trace, std::size_t* count) {
  *count = trace->requests.size();
  return trace->requests.data();
}
const dt_text* dt_texts(const dt_trace* trace, std::size_t* count) {
  *count = trace->texts.size();
  return trace->texts.data();
}
const dt_block* dt_blocks(const dt_trace* trace, std::size_t* count) {
  *count = trace->blocks.size();
  return trace->blocks.data();
}
const char* dt_damage(const dt_trace* trace) { return trace->damage.c_str(); }
