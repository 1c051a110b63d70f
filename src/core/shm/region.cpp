#include "core/shm/region.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/shm/block.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/pool.hpp"
#include "core/shm/steps.hpp"

namespace damaris::shm {
namespace {

struct Geometry {
  std::uint64_t slots, spans, pool, ends, xml, frame, rest, variables, lanes, lane_stride, arenas, total;
};

// Bytes of each lane's arena, or of the single pool.
std::vector<std::uint64_t> shares_of(const RegionSpec& spec) {
  if (is_pooled(spec.pooled, spec.clients, spec.threads)) return {spec.buffer_bytes / kPage * kPage};
  return arena_shares(spec.buffer_bytes, spec.clients, spec.threads, spec.weights);
}

Geometry geometry(const RegionSpec& spec, const std::vector<std::uint64_t>& shares) {
  Geometry g = {};
  const std::uint64_t lanes = static_cast<std::uint64_t>(spec.clients) * spec.threads;
  g.slots = round_up(sizeof(RegionHeader), kLine);
  g.spans = g.slots + spec.clients * sizeof(ClientSlot);
  g.pool = round_up(g.spans + lanes * sizeof(LaneSpan), kLine);
  g.ends = round_up(g.pool + (is_pooled(spec.pooled, spec.clients, spec.threads) ? sizeof(PoolHeader) : 0), alignof(LogEnd));
  g.xml = g.ends + spec.log_files * sizeof(LogEnd);
  g.frame = round_up(g.xml + spec.xml.size(), kLine);
  g.rest = g.frame + spec.model.frame.size();
  g.variables = round_up(g.rest + spec.model.rest.size(), kLine);
  g.lanes = round_up(g.variables + spec.variables.size(), kPage);
  g.lane_stride = round_up(lane_bytes(spec.lane_messages), kPage);
  g.arenas = g.lanes + lanes * g.lane_stride;
  g.total = g.arenas;
  for (const std::uint64_t share : shares) g.total += share;
  return g;
}

void fill_header(RegionHeader& header, const RegionSpec& spec, const Geometry& g) {
  header.abi = kAbi;
  header.header_bytes = sizeof(RegionHeader);
  header.total_bytes = g.total;
  header.config_digest = digest(spec.xml);
  header.config_place = spec.config_place;
  header.run = spec.run;
  header.client_count = spec.clients;
  header.threads = spec.threads;
  header.lane_messages = spec.lane_messages;
  header.slots_offset = g.slots;
  header.spans_offset = g.spans;
  header.pool_offset = is_pooled(spec.pooled, spec.clients, spec.threads) ? g.pool : 0;
  header.ends_offset = g.ends;
  header.log_files = spec.log_files;
  header.xml_offset = g.xml;
  header.xml_bytes = spec.xml.size();
  header.frame_offset = g.frame;
  header.frame_bytes = spec.model.frame.size();
  header.rest_offset = g.rest;
  header.rest_bytes = spec.model.rest.size();
  header.variables_offset = g.variables;
  header.variables_bytes = spec.variables.size();
  header.server_pid = ::getpid();
  header.serving_since_ns = Clock::now().time_since_epoch().count();
  header.server_index = spec.server_index;
  header.server_count = spec.server_count;
  header.detached = spec.detached ? 1 : 0;
  spec.simulation.copy(header.simulation, sizeof header.simulation - 1);
  spec.host.copy(header.host, sizeof header.host - 1);
  spec.spill.copy(header.spill, sizeof header.spill - 1);
  clear_steps(header);
}

constexpr std::uint64_t kMostLanes = 1u << 24, kMostMessages = 1u << 24, kMostLogFiles = 1u << 24;

bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) { return offset <= total && bytes <= total - offset; }

bool is_sound(const LaneSpan& s, std::uint64_t lanes, std::uint64_t messages, std::uint64_t total) {
  return s.arena < lanes && fits(s.lane_offset, lane_bytes(messages), total) && fits(s.arena_offset, s.arena_bytes, total) &&
         s.lane_offset % kLine == 0 && s.arena_offset % kLine == 0 && s.arena_bytes >= kMinBlock && s.arena_bytes % kLine == 0;
}

struct Text {
  std::uint64_t offset, bytes;
};
std::string_view text_at(const SharedMemory& memory, const Text& text) {
  return {reinterpret_cast<const char*>(memory.data() + text.offset), text.bytes};
}

}  // namespace

std::vector<std::uint64_t> arena_shares(std::uint64_t total_bytes, std::uint32_t clients, std::uint32_t threads,
                                        const std::vector<std::int64_t>& weights) {
  const auto weight = [&](std::uint32_t client) {
    return weights.empty() ? 1.0 : static_cast<double>(weights[std::min<std::size_t>(client, weights.size() - 1)]);
  };
  double sum = 0;
  for (std::uint32_t client = 0; client < clients; ++client) sum += weight(client);
  std::vector<std::uint64_t> shares;
  for (std::uint32_t client = 0; client < clients; ++client) {
    const double bytes = static_cast<double>(total_bytes) * weight(client) / sum / threads;
    shares.insert(shares.end(), threads, static_cast<std::uint64_t>(bytes) / kPage * kPage);
  }
  return shares;
}

Region Region::create(const RegionSpec& spec) {
  const std::vector<std::uint64_t> shares = shares_of(spec);
  if (*std::min_element(shares.begin(), shares.end()) < kPage)
    throw Error(DC_E_CONFIG,
                format("a buffer of {} leaves less than {} for one of {} clients with {} threads; give <buffer size=...> more",
                       size_text(spec.buffer_bytes), size_text(kPage), spec.clients, spec.threads));
  const Geometry g = geometry(spec, shares);
  Region region(spec.name.empty() ? SharedMemory::make_private(g.total) : SharedMemory::create(spec.name, g.total, g.arenas));
  auto* header = new (region.at(0)) RegionHeader{};
  fill_header(*header, spec, g);
  std::memcpy(region.at(g.xml), spec.xml.data(), spec.xml.size());
  std::memcpy(region.at(g.frame), spec.model.frame.data(), spec.model.frame.size());
  std::memcpy(region.at(g.rest), spec.model.rest.data(), spec.model.rest.size());
  std::memcpy(region.at(g.variables), spec.variables.data(), spec.variables.size());
  for (std::uint32_t client = 0; client < spec.clients; ++client) {
    auto* slot = new (region.at(g.slots + client * sizeof(ClientSlot))) ClientSlot{};
    slot->id.store(-1, std::memory_order_relaxed);
    slot->ended_step.store(kNoStep, std::memory_order_relaxed);
  }
  for (std::uint64_t file = 0; file < spec.log_files; ++file) new (region.at(g.ends + file * sizeof(LogEnd))) LogEnd{};
  region.make_lanes(g.lanes, g.lane_stride, g.arenas, shares);
  if (!region.load_constants())
    throw Error(DC_E_CONFIG,
                format("{} clients with {} threads are more than a region can serve; give fewer", spec.clients, spec.threads));
  if (region.pool() != nullptr) region.make_pool();
  // Last: a region without the magic number was never finished, so it holds no data.
  __atomic_store_n(&header->magic, kMagic, __ATOMIC_RELEASE);
  return region;
}

// One lane per share; in a pool all lanes refer to the single share.
void Region::make_lanes(std::uint64_t lanes, std::uint64_t stride, std::uint64_t arenas, const std::vector<std::uint64_t>& shares) {
  const RegionHeader& h = header();
  auto* spans = reinterpret_cast<LaneSpan*>(at(h.spans_offset));
  for (std::uint64_t lane = 0; lane < std::uint64_t{h.client_count} * h.threads; ++lane) {
    const std::uint64_t offset = lanes + lane * stride;
    new (at(offset)) LaneHeader{};
    if (h.pool_offset != 0) {
      new (spans + lane) LaneSpan{offset, arenas, shares[0], 0};
    } else {
      new (spans + lane) LaneSpan{offset, arenas, shares[lane], lane};
      arenas += shares[lane];
    }
  }
}

void Region::make_pool() {
  const LaneSpan& s = span(0);
  memory_.allocate(s.arena_offset, s.arena_bytes);
  shm::make_pool(*pool(), at(s.arena_offset), s.arena_bytes, lane(0));
}

void Region::set_ready() noexcept { set_state(header(), RegionState::ready); }

Region Region::attach(const std::string& name) { return attach(SharedMemory::open(name, sizeof(RegionHeader))); }

Region Region::attach(SharedMemory memory) {
  Region region(std::move(memory));
  region.require_header();
  if (!region.load_constants())
    throw Error(DC_E_SHM, format("the header of the region {} is damaged; remove /dev/shm{}", region.name(), region.name()));
  return region;
}

void Region::require_header() const {
  const RegionHeader& h = header();
  if (!is_there(0, sizeof(RegionHeader)) || h.magic != kMagic)
    throw Error(DC_E_SHM, format("{} is not a finished region of Damaris", name()));
  if (h.abi != kAbi || h.header_bytes != sizeof(RegionHeader))
    throw Error(DC_E_VERSION,
                format("the region {} has ABI version {}, this library has {}; use the same Damaris for server and clients", name(),
                       h.abi, kAbi));
}

// Within the memory, and allocated: the server that made the region may have died before that, or its file was cut.
bool Region::is_there(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  return fits(offset, bytes, memory_.size_bytes()) && memory_.is_backed(offset, bytes);
}

// Reads each field once and validates the value read. Returns false if the header is invalid.
bool Region::load_constants() {
  const std::uint64_t size = memory_.size_bytes();
  RegionHeader& h = header();
  constants_ = {
      h.client_count, h.threads, h.lane_messages, h.slots_offset, h.pool_offset, h.ends_offset, h.log_files, {}, {}, {}, {}};
  const Text xml = {h.xml_offset, h.xml_bytes}, frame = {h.frame_offset, h.frame_bytes}, rest = {h.rest_offset, h.rest_bytes},
             variables = {h.variables_offset, h.variables_bytes};
  const std::uint64_t spans = h.spans_offset, messages = constants_.lane_messages, slots = constants_.slots_offset;
  const std::uint64_t lanes = std::uint64_t{constants_.clients} * constants_.threads;
  if (h.total_bytes > size || lanes == 0 || lanes >= kMostLanes || messages == 0 || messages > kMostMessages ||
      (messages & (messages - 1)) != 0)
    return false;
  if (slots % kLine != 0 || spans % alignof(LaneSpan) != 0 || constants_.pool % kLine != 0 ||
      constants_.ends % alignof(LogEnd) != 0 || constants_.log_files > kMostLogFiles)
    return false;
  if (!is_there(slots, constants_.clients * sizeof(ClientSlot)) || !is_there(spans, lanes * sizeof(LaneSpan)) ||
      (constants_.pool != 0 && !is_there(constants_.pool, sizeof(PoolHeader))) ||
      !is_there(constants_.ends, constants_.log_files * sizeof(LogEnd)))
    return false;
  for (const Text& text : {xml, frame, rest, variables})
    if (!is_there(text.offset, text.bytes)) return false;
  constants_.xml = text_at(memory_, xml);
  constants_.model = {text_at(memory_, frame), text_at(memory_, rest)};
  constants_.variables = text_at(memory_, variables);
  const auto* span = reinterpret_cast<const LaneSpan*>(at(spans));
  constants_.spans.assign(span, span + lanes);
  return std::all_of(constants_.spans.begin(), constants_.spans.end(), [&](const LaneSpan& s) {
    return is_sound(s, lanes, messages, size) && memory_.is_backed(s.lane_offset, lane_bytes(messages));
  });
}

std::string Region::spill_file() const {
  const std::string path(header().spill, ::strnlen(header().spill, sizeof header().spill));
  const std::string own = name().empty() ? "/" : name() + ".", end = ".spill";
  const bool has_end = path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
  const std::size_t file = path.rfind('/');
  const bool is_own = file != std::string::npos && path.compare(file, own.size(), own) == 0;
  return has_end && is_own && path.front() == '/' ? path : "";
}

std::string Region::host() const {
  std::string name(header().host, ::strnlen(header().host, sizeof header().host));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

ClientSlot& Region::slot(std::uint32_t client) const noexcept {
  return *reinterpret_cast<ClientSlot*>(at(constants_.slots_offset + client * sizeof(ClientSlot)));
}

// A client allocates and initializes its arenas between claiming a slot and attaching; the server may declare the slot dead in between.
bool Region::arena_never_initialized(std::uint32_t lane, std::uint64_t readable) const noexcept {
  if (pool() != nullptr) return false;
  const auto state = state_of(slot(lane / threads()));
  if (state == SlotState::free || state == SlotState::claimed) return true;
  if (state != SlotState::dead) return false;
  return readable < sizeof(BlockHeader) || reinterpret_cast<const BlockHeader*>(at(span(lane).arena_offset))->magic == 0;
}

bool Region::walk_blocks(std::uint32_t lane, const VisitBlock& visit) const {
  const LaneSpan& s = span(lane);
  const std::uint64_t readable = memory_.backed_bytes(s.arena_offset, s.arena_bytes);
  return walk_arena(at(s.arena_offset), s.arena_bytes, readable, visit) || arena_never_initialized(lane, readable);
}

std::vector<std::int32_t> Region::living_clients() const {
  std::vector<std::int32_t> found;
  for (std::uint32_t client = 0; client < client_count(); ++client) {
    const SlotState state = state_of(slot(client));
    if (state != SlotState::drained && state != SlotState::dead && client_lives(client)) found.push_back(slot(client).pid);
  }
  return found;
}

std::size_t Region::unreleased_blocks() const {
  std::size_t count = header().spilled_blocks.load(std::memory_order_relaxed);
  for (std::uint32_t lane = 0; lane < client_count() * threads(); ++lane) {
    if (!owns_arena(lane)) continue;
    const bool sound =
        walk_blocks(lane, [&](BlockHeader& block, std::uint64_t) { count += state_of(block) == BlockState::published ? 1 : 0; });
    if (!sound) ++count;
  }
  return count;
}

}  // namespace damaris::shm
