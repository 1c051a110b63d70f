#include "trace/kernel.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/chunks.hpp"
#include "trace/requests.hpp"
#include "trace/slot.hpp"

using damaris::trace::Chunks;
using damaris::trace::Files;
using damaris::trace::kHead;
using damaris::trace::note;
using damaris::trace::Piece;
using damaris::trace::Slot;
namespace trace = damaris::trace;

namespace {

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
std::vector<trace::RequestSlot> decode(dt_trace& found, Files& files, const Chunks& chunks, std::size_t functions) {
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
    const std::vector<Slot>& all = files.chunk(chunk.place);
    const Slot* const slots = all.data() + kHead;
    if (all.size() < kHead + chunk.count) continue;  // somebody has cut the file since
    for (std::size_t i = 0; i < chunk.count; i += 1 + trace::behind(slots[i])) {
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
    found.blocks.push_back({static_cast<std::int64_t>(one->call), one->slot.place, one->slot.begin, one->slot.object});
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

dt_trace* dt_open(const dt_piece* pieces, std::size_t count, const std::uint8_t* roles, std::size_t functions, char* error,
                  std::size_t room) try {
  auto found = std::make_unique<dt_trace>();
  Files files;
  std::vector<Piece> all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto file = files.open(pieces[i].path);
    if (!file) {
      std::snprintf(error, room, "cannot read %s: %s", pieces[i].path, std::strerror(errno));
      return nullptr;
    }
    const std::vector<Piece> more =
        pieces[i].bytes == 0 ? trace::chunks_in_file(*found, files, *file) : trace::chunks_in_log(*found, files, *file, pieces[i]);
    all.insert(all.end(), more.begin(), more.end());
  }
  const char* const path = count > 0 ? pieces[0].path : "";
  const Chunks chunks = trace::chunks_of(*found, all);
  if (const std::uint32_t version = trace::version_of(all); chunks.empty() && version != 0 && version != trace::kVersion) {
    std::snprintf(error, room, "%s is of version %u of the recorder, this damaris reads %u: use the one that recorded it", path,
                  version, trace::kVersion);
    return nullptr;
  }
  if (chunks.empty()) {
    std::snprintf(error, room, "%s is no file of the recorder, or is cut before its first call", path);
    return nullptr;
  }
  std::vector<trace::RequestSlot> requests = decode(*found, files, chunks, functions);
  sort_calls(found->calls, requests);
  split_blocks(*found, requests);
  found->requests = trace::pair_requests(found->calls, std::move(requests));
  sum_offsets(*found, roles);
  return found.release();
} catch (const std::bad_alloc&) {
  std::snprintf(error, room, "there is no memory to decode %s", count > 0 ? pieces[0].path : "");
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
