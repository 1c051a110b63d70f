// A server with two clients: one is well-behaved, the other writes what it likes into its slot, its lane, its arena and the header.
// The server must neither crash nor hang nor read outside, and the first client's datasets must all arrive as they were written. In a
// shared pool the hostile one may also write into the other's blocks and into the lock: then neither the server nor the client may be harmed.
#include <damaris/error.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>

#include "client/client.hpp"
#include "client/slot.hpp"
#include "config/config.hpp"
#include "core/shm/pool.hpp"
#include "fuzz.hpp"
#include "server/make_region.hpp"
#include "server/server.hpp"

using namespace damaris;
using fuzz::Input;
using fuzz::require;

namespace {

constexpr std::uint32_t kGood = 0, kHostile = 1;  // slots
constexpr int kGoodId = 7, kHostileId = 8;

constexpr char kBegin[] = R"(<simulation name="fuzz">
  <architecture><lanes events="16"/><buffer )";
constexpr char kEnd[] = R"(/></architecture>
  <data>
    <layout name="four" type="int" dimensions="4"/>
    <layout name="tile" type="real" dimensions="2,3" global="4,3" ghost="0:0,1:1"/>
    <variable name="small" layout="four"/>
    <variable name="tile" layout="tile"/>
  </data>
  <actions>
    <plugin name="fuzz" using=")" FUZZ_PLUGIN R"("/>
    <event name="go" plugin="fuzz" scope="node"/>
  </actions>
</simulation>)";

// What the good client wrote, and what of it came: by step and block, the first of four equal numbers.
using Written = std::map<std::pair<std::int64_t, std::int32_t>, std::int32_t>;
Written written, arrived;
bool pooled;  // one pool for both: of the good client's values nothing is sure then

std::uint64_t checksum_of(const dc_dataset_t& dataset) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < dataset.bytes; ++i) sum += static_cast<const unsigned char*>(dataset.data)[i];
  return sum;
}

void take_step(const dc_step_t* step) {
  for (std::size_t i = 0; i < step->dataset_count; ++i) {
    const dc_dataset_t& dataset = step->datasets[i];
    checksum_of(dataset);
    require(dataset.step == step->step, "a dataset is of its step");
    if (dataset.source != kGoodId || pooled) continue;
    const auto* values = static_cast<const std::int32_t*>(dataset.data);
    const bool equal = dataset.bytes == 16 && values[0] == values[1] && values[0] == values[2] && values[0] == values[3];
    require(equal, "the good client's values are whole");
    require(arrived.emplace(std::make_pair(dataset.step, dataset.block), values[0]).second, "a dataset comes once");
  }
}

std::string xml_text() {
  return kBegin + std::string(pooled ? R"(size="64KiB" split="shared" timeout="0")" : R"(size="128KiB")") + kEnd;
}

std::shared_ptr<const model::Model> make_model() {
  void* plugin = ::dlopen(FUZZ_PLUGIN, RTLD_NOW);
  require(plugin != nullptr, "the plugin loads", plugin == nullptr ? ::dlerror() : "");
  *static_cast<void (**)(const dc_step_t*)>(::dlsym(plugin, "fuzz_step")) = take_step;
  return std::make_shared<const model::Model>(config::parse(xml_text(), "/fuzz.xml"));
}

// The server's region on the heap, so that the sanitizer guards its begin and end.
class Node {
 public:
  Node(const std::shared_ptr<const model::Model>& model, std::int32_t hostile_id) {
    const auto made = server::make_region(*model, xml_text(), 2, {});
    size_ = made->header().total_bytes;
    bytes_ = static_cast<std::byte*>(::aligned_alloc(shm::kPage, shm::round_up(size_, shm::kPage)));
    std::memcpy(bytes_, made->at(0), size_);
    region_ = std::make_shared<shm::Region>(shm::Region::attach(shm::SharedMemory::view(bytes_, size_)));
    server_ = std::make_unique<server::Server>(model, region_, std::make_unique<server::SingleCoordinator>(),
                                               std::vector<std::int32_t>{kGoodId, kHostileId});
    client::try_claim(*region_, kGood, kGoodId);
    good_ = std::make_unique<client::Client>(region_, model, kGood, kGoodId);
    client::try_claim(*region_, kHostile, kHostileId);
    const shm::LaneSpan& span = region_->span(kHostile);
    if (!pooled) shm::Arena(region_->at(span.arena_offset), span.arena_bytes, region_->lane(kHostile));
    region_->slot(kHostile).id.store(hostile_id);
    region_->slot(kHostile).state.store(static_cast<std::uint32_t>(shm::SlotState::attached));
  }
  ~Node() {
    good_.reset();
    server_.reset();
    region_.reset();
    std::free(bytes_);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  shm::Region& region() { return *region_; }
  server::Server& server() { return *server_; }
  client::Client& good() { return *good_; }

 private:
  std::uint64_t size_ = 0;
  std::byte* bytes_ = nullptr;
  std::shared_ptr<shm::Region> region_;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<client::Client> good_;
};

// What the hostile client may write to: all of its own, and the part of the header that is constant.
void scribble(Input& input, shm::Region& region) {
  const shm::LaneSpan& span = region.span(kHostile);
  const std::uint64_t ring = shm::lane_bytes(region.lane_messages());
  const auto place_of = [&](void* part) { return static_cast<std::uint64_t>(static_cast<std::byte*>(part) - region.at(0)); };
  const std::uint64_t pool = pooled ? place_of(region.pool()) : 0;  // not from the header, which may be scribbled on already
  const struct {
    std::uint64_t begin, bytes;
  } parts[] = {{place_of(&region.slot(kHostile)), sizeof(shm::ClientSlot)},
               {span.lane_offset, sizeof(shm::LaneHeader)},
               {span.lane_offset, ring},
               {span.arena_offset, 2048},
               {0, offsetof(shm::RegionHeader, simulation)},
               {sizeof(shm::RegionHeader) + 2 * sizeof(shm::ClientSlot), 2 * sizeof(shm::LaneSpan)},
               {pool, sizeof(shm::PoolHeader)}};
  const auto& part = parts[input.below(pooled ? 7 : 6)];
  const std::uint64_t offset = input.take<std::uint16_t>() % part.bytes;
  const std::string_view bytes = input.take_bytes(1 + input.below(32));
  std::memcpy(region.at(part.begin + offset), bytes.data(), std::min<std::uint64_t>(bytes.size(), part.bytes - offset));
}

std::uint64_t block_place(Input& input) { return input.take<std::uint8_t>() * shm::kLine; }

// An event whose place in the lane is right, and all else what it likes.
void push(Input& input, shm::Region& region) {
  shm::LaneWriter writer(region.lane(kHostile), region.lane_messages());
  shm::Message event = {};
  event.kind = static_cast<shm::MessageKind>(input.below(10));
  event.name = static_cast<std::uint32_t>(input.below(4)) - 1;
  event.step = input.take<std::uint8_t>() < 200 ? static_cast<std::int64_t>(input.below(6)) : input.take<std::int64_t>();
  const auto place = input.take<std::uint8_t>();  // mostly where publish() puts blocks
  event.block_offset = place == 255 ? input.take<std::uint64_t>() : region.span(kHostile).arena_offset + place * shm::kLine;
  event.time = input.take<double>();
  writer.try_push(event);
}

// A block that looks as if it were published, with some of its fields wrong.
void publish(Input& input, shm::Region& region) {
  const std::uint64_t place = block_place(input) % (region.span(kHostile).arena_bytes - shm::kLongestHeader);
  auto* block = reinterpret_cast<shm::BlockHeader*>(region.at(region.span(kHostile).arena_offset + place));
  block->magic = shm::kBlockMagic;
  block->state.store(input.below(2) == 0 ? static_cast<std::uint32_t>(shm::BlockState::published)
                                         : static_cast<std::uint32_t>(shm::BlockState::requested));
  const bool small = input.below(2) == 0;
  block->size_bytes.store(input.below(8) == 0 ? input.take<std::uint64_t>() : 4096);
  block->data_bytes = input.below(8) == 0 ? input.take<std::uint64_t>() : small ? 16 : 24;
  block->step = static_cast<std::int64_t>(input.below(6));
  block->variable = small ? 0 : 1;
  block->source = region.slot(kHostile).id.load();
  block->block = static_cast<std::int32_t>(input.below(4));
  block->ndims = small ? 1 : 2;
  block->flags = input.take<std::uint8_t>() % 16;
  const shm::Lists lists(*block, {block->ndims, block->flags});
  lists.extents()[0] = small ? 4 : 2;
  if (!small) lists.extents()[1] = 3;
  const std::uint8_t field = input.take<std::uint8_t>();
  const int d = small ? 0 : field % 2;
  if (field < 4) lists.extents()[d] = input.take<std::int64_t>();
  if (field >= 4 && field < 8) lists.position()[d] = input.take<std::int64_t>();
  if (field >= 8 && field < 12) lists.global()[d] = input.take<std::int64_t>();
  if (field >= 12 && field < 16) lists.ghost_low()[d] = input.take<std::uint32_t>();
  if (field >= 252) block->ndims = input.take<std::uint8_t>();
  if (field >= 254) block->flags = input.take<std::uint8_t>();
}

// The lock in the name of one that lives, cannot be, or is the good client; room that is taken and kept.
void misuse_pool(Input& input, shm::Region& region) {
  shm::PoolHeader& pool = *region.pool();
  const std::uint64_t words[] = {0, 1, 2, 0x7fffffff, 0xffffffff, 1ull << 32, (1ull << 32) + 1, ~0ull};
  const shm::LaneSpan& span = region.span(kHostile);
  switch (input.below(3)) {
    case 0:
      return pool.owner.store(words[input.below(std::size(words))]);
    case 1:
      return pool.owner.store(input.take<std::uint64_t>());
    default: {
      if (pool.owner.load() != 0) return;
      const shm::Arena arena = shm::Arena::existing(region.at(span.arena_offset), span.arena_bytes, region.lane(0));
      (void)shm::PooledArena(arena, &pool, region.memory(), kHostile, 0)
          .try_reserve(input.take<std::uint16_t>() % span.arena_bytes);
    }
  }
}

// Steps of the good client: each is written and ended in turn.
class GoodClient {
 public:
  explicit GoodClient(client::Client& client) : client_(client), variable_(client.shapes().find("small")) {}
  void write(std::int32_t value) {
    if (block_ == 8 || refused_ == 3) return;  // its arena and lane always have room; at a pool's lock it waits
    const std::int32_t values[4] = {value, value, value, value};
    try {
      require(client_.write(variable_, step_, block_, values) == DC_OK, "the good client can write");
    } catch (const Error& error) {
      const bool is_full = error.code() == DC_E_FULL || error.code() == DC_E_ITERATION_TOO_LARGE;
      require(pooled && is_full, "only a pool may be full", error.sentence());
      ++refused_;
      return;
    }
    written[{step_, block_++}] = value;
  }
  void end() {
    if (client_.end_iteration(step_).code == DC_E_INTERNAL) std::abort();
    ++step_;
    block_ = 0;
  }

 private:
  client::Client& client_;
  client::Variable& variable_;
  std::int64_t step_ = 0;
  std::int32_t block_ = 0;
  int refused_ = 0;
};

void act(Input& input, Node& node, GoodClient& good) {
  switch (input.below(8)) {
    case 0:
      return good.write(input.take<std::int32_t>());
    case 1:
      return good.end();
    case 2:
    case 3:
      return scribble(input, node.region());
    case 4:
      return publish(input, node.region());
    case 5:
    case 6:
      return push(input, node.region());
    default:
      if (pooled) misuse_pool(input, node.region());
  }
}

std::shared_ptr<const model::Model> model_of_split() {
  static std::shared_ptr<const model::Model> models[2];
  if (models[pooled] == nullptr) models[pooled] = make_model();
  return models[pooled];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  written.clear();
  arrived.clear();
  Input input(data, size);
  {
    constexpr std::int32_t kIds[] = {kHostileId, kHostileId, kGoodId, -1};
    const std::size_t kind = input.below(8);
    pooled = kind >= 4;
    Node node(model_of_split(), kIds[kind % 4]);
    GoodClient good(node.good());
    for (int acts = 0; acts < 200 && !input.empty(); ++acts) {
      act(input, node, good);
      if (input.below(2) == 0 || acts % 8 == 7) node.server().poll();
    }
    const std::atomic<bool> stop{true};
    node.server().run(&stop);
  }
  require(arrived == written || pooled, "all datasets of the good client arrived",
          std::to_string(arrived.size()) + " of " + std::to_string(written.size()));
  return 0;
}
