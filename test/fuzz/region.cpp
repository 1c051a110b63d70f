// A region as a crashed or malicious process may have left it: attach, all that looks at a dead region, and clients that share a pool in it.
#include <damaris/error.hpp>

#include <cstring>
#include <memory>
#include <string>

#include "core/model/variable_table.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/lane.hpp"
#include "core/shm/mailbox.hpp"
#include "core/shm/pool.hpp"
#include "core/shm/region.hpp"
#include "core/shm/server_facts.hpp"
#include "core/shm/steps.hpp"
#include "fuzz.hpp"

using namespace damaris;
using fuzz::Input;
using fuzz::require;

namespace {

// On the heap, so that the sanitizer guards its first and its last byte.
class Memory {
 public:
  explicit Memory(std::size_t size) : size_(size), bytes_(static_cast<std::byte*>(::aligned_alloc(shm::kLine, size))) {}
  ~Memory() { std::free(bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::byte* bytes_;
};

shm::PooledArena pool_of(const shm::Region& region, std::uint32_t client) {
  const shm::LaneSpan& span = region.span(0);
  return {shm::Arena::existing(region.at(span.arena_offset), span.arena_bytes, region.lane(0)), region.pool(), region.memory(),
          client, 0};
}

constexpr std::size_t kLayouts = 2;

// Names that are long and short, bare and not, and a schedule.
model::Model model_with_variables() {
  model::Model model;
  model.layouts.resize(kLayouts);
  for (const char* path : {"t", "air/t", "air/u", "a_group_with_a_long_name/a_variable_with_a_long_name"}) {
    model::Variable& variable = model.variables.emplace_back();
    variable.path = path;
    variable.name = variable.path.substr(variable.path.rfind('/') + 1);
    variable.id = static_cast<std::uint32_t>(model.variables.size() - 1);
    variable.layout = variable.id % kLayouts;
  }
  model.variables[2].schedule.every = 2;
  return model;
}

// Two clients, a block published by each.
shm::Region make_region(bool pooled) {
  shm::RegionSpec spec;
  spec.simulation = "fuzz";
  spec.xml = "<simulation/>";
  spec.model = {"{}", "{}"};
  spec.variables = model::variable_table_of(model_with_variables());
  spec.clients = 2;
  spec.lane_messages = 4;
  spec.buffer_bytes = 4 * shm::kPage;
  spec.pooled = pooled;
  shm::Region region = shm::Region::create(spec);
  for (std::uint32_t client = 0; client < 2; ++client) {
    const shm::LaneSpan& span = region.span(client);
    shm::PooledArena arena = pooled ? pool_of(region, client)
                                    : shm::PooledArena({region.at(span.arena_offset), span.arena_bytes, region.lane(client)},
                                                       nullptr, region.memory(), client, 0);
    arena.try_reserve(100)->state.store(static_cast<std::uint32_t>(shm::BlockState::published));
    region.slot(client).state.store(static_cast<std::uint32_t>(shm::SlotState::attached));
  }
  region.set_ready();
  return region;
}

const shm::Region& whole_region(bool pooled) {
  static const shm::Region regions[] = {make_region(false), make_region(true)};
  return regions[pooled ? 1 : 0];
}

// Where a change hits the most: anywhere in the header, the spans, a slot, a lane, the begin of an arena or the pool's header.
std::uint64_t place_of(Input& input, const shm::Region& region) {
  const shm::RegionHeader& header = region.header();
  const auto client = static_cast<std::uint32_t>(input.below(2));
  const std::uint64_t bases[] = {0,
                                 header.spans_offset,
                                 header.slots_offset,
                                 region.span(client).lane_offset,
                                 region.span(client).arena_offset,
                                 header.pool_offset};
  const std::size_t base = input.below(region.pool() == nullptr ? 5 : 6);
  const std::uint64_t spans[] = {sizeof(shm::RegionHeader), 1024, 1024, 1024, 1024, sizeof(shm::PoolHeader)};
  return bases[base] + input.take<std::uint16_t>() % spans[base];
}

std::uint64_t place_in_table(Input& input, const shm::Region& region) {
  return region.header().variables_offset + input.take<std::uint16_t>() % region.header().variables_bytes;
}

void damage(Input& input, bool in_table, const shm::Region& whole, Memory& memory) {
  while (!input.empty()) {
    const std::uint64_t place = in_table ? place_in_table(input, whole) : place_of(input, whole);
    const std::string_view bytes = input.take_bytes(1 + input.below(8));
    if (!bytes.empty() && place + bytes.size() <= memory.size()) std::memcpy(memory.data() + place, bytes.data(), bytes.size());
  }
}

std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t sum = 0;
  for (const char c : bytes) sum += static_cast<unsigned char>(c);
  return sum;
}

void look_at_lane(const shm::Region& region, std::uint32_t lane) {
  const shm::LaneSpan& span = region.span(lane);
  std::uint64_t end = 0;
  shm::walk_arena(region.at(span.arena_offset), span.arena_bytes, [&](shm::BlockHeader& block, std::uint64_t offset) {
    require(offset == end, "blocks follow each other");
    end = offset + block.size_bytes.load();
    require(end <= span.arena_bytes, "a block lies in its arena");
    sum_of({reinterpret_cast<const char*>(&block), static_cast<std::size_t>(block.size_bytes.load())});
  });
  shm::LaneReader reader(region.lane(lane), region.lane_messages());
  shm::Message event;
  std::uint64_t taken = 0;
  while (reader.try_take(event)) ++taken;
  require(taken <= region.lane_messages(), "a lane holds no more than its ring");
}

// What a client that lives gets of the pool, which it then fills.
void reserve(shm::PooledArena& arena, const shm::Region& region, std::uint64_t bytes) {
  shm::BlockHeader* block = arena.try_reserve(bytes);
  if (block == nullptr) return;
  const shm::LaneSpan& span = region.span(0);
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(block) - region.at(span.arena_offset));
  const std::uint64_t need = shm::block_bytes(bytes, {});
  require(offset % shm::kLine == 0 && offset < span.arena_bytes && need <= span.arena_bytes - offset,
          "a block that is reserved lies in the pool");
  std::memset(shm::data_of(block, {}), 0x5a, bytes);
  if (bytes % 2 != 0) arena.cancel(*block);
}

// The server gives back what a dead client had in hand; another client goes on. An owner that lives makes it wait, so it asks no more then.
void share_pool(const shm::Region& region) {
  const shm::LaneSpan& span = region.span(0);
  const shm::Arena arena = shm::Arena::existing(region.at(span.arena_offset), span.arena_bytes, region.lane(0));
  shm::reclaim(*region.pool(), region.memory(), arena, 1, [](const shm::BlockHeader& block) { return block.step % 2 != 0; });
  shm::PooledArena client = pool_of(region, 0);
  for (const std::uint64_t bytes : {100u, 1'001u, 0u, 2'000u, 5'001u, 12'000u}) {
    if (region.pool()->owner.load() != 0 && bytes != 100) return;
    reserve(client, region, bytes);
  }
  client.used_bytes();
  client.largest_hole_bytes();
}

void look_up(const model::VariableTable& table) {
  static const model::Model whole = model_with_variables();
  for (const model::Variable& variable : whole.variables)
    for (const std::string& name : {variable.path, variable.name})
      for (std::uint32_t guess = 0; guess < 5; ++guess)
        require(table.find(name, guess) < static_cast<int>(table.size()), "what is found is a variable");
  for (std::uint32_t id = 0; id < table.size(); ++id) {
    sum_of(table.path(id));
    require(table.at(id).layout < kLayouts, "a variable has a layout");
  }
}

// As a client does when it attaches, which refuses a damaged table.
void look_at_variables(std::string_view bytes) {
  try {
    look_up(model::VariableTable(bytes, kLayouts));
  } catch (const Error& error) {
    require(error.code() == DC_E_CONFIG, "a damaged table is DC_E_CONFIG", error.sentence());
  }
}

void look_at(const shm::Region& region) {
  sum_of(region.xml());
  sum_of(region.model().frame);
  sum_of(region.model().rest);
  look_at_variables(region.variables());
  shm::busy_with(region.header());
  region.unreleased_blocks();
  require(shm::lost_steps(region.header()).value_or(shm::StepRange()).last <= shm::kHighestStep, "lost steps are steps");
  shm::known_times(region.header());
  for (std::uint32_t client = 0; client < region.client_count(); ++client)
    for (std::uint32_t mails = 0; mails < 2 * shm::kMails; ++mails)
      if (!shm::try_take_mail(region.slot(client))) break;
  for (std::uint32_t lane = 0; lane < region.client_count() * region.threads(); ++lane) look_at_lane(region, lane);
  if (region.pool() != nullptr) share_pool(region);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto kind = input.take<std::uint8_t>();
  const shm::Region& whole = whole_region(kind >= 192);
  const std::size_t cut = kind < 16 ? input.take<std::uint16_t>() % whole.header().total_bytes : 0;
  Memory memory(shm::round_up(whole.header().total_bytes - cut, shm::kLine));
  std::memcpy(memory.data(), whole.at(0), memory.size());
  damage(input, kind >= 16 && kind < 32, whole, memory);
  try {
    look_at(shm::Region::attach(shm::SharedMemory::view(memory.data(), memory.size())));
  } catch (const Error& error) {
    require(error.code() == DC_E_SHM || error.code() == DC_E_VERSION, "a damaged region is DC_E_SHM", error.sentence());
  }
  return 0;
}
