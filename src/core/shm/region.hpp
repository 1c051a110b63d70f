// The region: what a server and its clients share. Made by the server, attached to by clients, explained by its own header.
// Used by: the server's dispatch thread, each client, recovery; constant after start-up except for the fields that layout.hpp names.
// Before it: the compiled model. After it: lanes, arenas and mailboxes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/shm/layout.hpp"
#include "core/shm/shared_memory.hpp"

namespace damaris::shm {

struct RegionSpec {
  std::string name;  // of the shared memory; "" makes a private one for a server in place
  std::string simulation, host;
  std::int32_t server_index = 0;
  std::int32_t server_count = 1;
  bool detached = false;           // clients find it by themselves
  std::string xml;                 // the configuration as read
  std::uint64_t config_place = 0;  // place_digest of its path
  std::uint64_t run = 0;           // digest of its run_identity, or a number that its processes agreed on
  std::string spill;               // absolute path of the spill file; "": none
  std::string model;               // compiled, JSON
  std::uint32_t clients = 1;
  std::uint32_t threads = 1;
  std::uint64_t lane_events = 1024;      // a power of two
  std::uint64_t buffer_bytes = 1 << 20;  // all arenas together
  std::vector<std::int64_t> weights;     // of the clients' arenas; empty: equal; the last one repeats
  bool pooled = false;                   // one arena for all lanes, under a lock; without effect when there is one lane
};

class Region {
 public:
  // Makes the region; it is not ready before set_ready(). Header, lanes and a pool are allocated here, each arena by the client that
  // attaches.
  // Throws Error(DC_E_SHM) when memory is short, Error(DC_E_CONFIG) when an arena would be too small to hold anything.
  static Region create(const RegionSpec& spec);
  // Maps the region `name` and checks magic, ABI version, sizes and offsets before anything else is read.
  // Throws Error(DC_E_SHM) or Error(DC_E_VERSION).
  static Region attach(const std::string& name);
  // The same for memory that holds a region.
  static Region attach(SharedMemory memory);

  // The server is able to serve: clients may attach.
  void set_ready() noexcept;

  RegionHeader& header() const noexcept { return *reinterpret_cast<RegionHeader*>(memory_.data()); }
  ClientSlot& slot(std::uint32_t client) const noexcept;
  const LaneSpan& span(std::uint32_t lane) const noexcept { return constants_.spans[lane]; }
  LaneHeader* lane(std::uint32_t lane) const noexcept { return reinterpret_cast<LaneHeader*>(at(span(lane).lane_offset)); }
  PoolHeader* pool() const noexcept { return constants_.pool == 0 ? nullptr : reinterpret_cast<PoolHeader*>(at(constants_.pool)); }
  // Whether the arena of that lane is its own, or it is the first one of a pool: every arena has one lane that keeps it.
  bool owns_arena(std::uint32_t lane) const noexcept { return span(lane).arena == lane; }
  std::byte* at(std::uint64_t offset) const noexcept { return memory_.data() + offset; }
  std::uint32_t client_count() const noexcept { return constants_.clients; }
  std::uint32_t threads() const noexcept { return constants_.threads; }
  std::uint64_t lane_events() const noexcept { return constants_.lane_events; }
  std::string_view xml() const noexcept { return constants_.xml; }
  std::string_view model() const noexcept { return constants_.model; }
  // The name of the machine that made the region. Files' names contain it, so it is never a path.
  std::string host() const;
  // Path of the server's spill file; "" for none, and when the field holds no path that this region could have: the file is opened, and
  // removed in the end.
  std::string spill_file() const;
  const std::string& name() const noexcept { return memory_.name(); }
  SharedMemory& memory() noexcept { return memory_; }
  const SharedMemory& memory() const noexcept { return memory_; }

  // Whether the process lives, also in another PID namespace: it holds the lock on its part of the memory (peer_watch.hpp).
  bool server_lives() const;
  bool client_lives(std::uint32_t client) const;

  // Published blocks that no server has released, in all arenas and the spill file: what a dead job left to recover. Space behind a damaged
  // block header counts as one block.
  std::size_t unreleased_blocks() const;
  // The client died, or the server gave it up, before it made its arena: there is nothing to walk.
  bool arena_never_initialized(std::uint32_t lane) const noexcept;

 private:
  explicit Region(SharedMemory memory) : memory_(std::move(memory)) {}
  void require_header() const;
  bool load_constants();
  void make_lanes(std::uint64_t lanes, std::uint64_t stride, std::uint64_t arenas, const std::vector<std::uint64_t>& shares);
  void make_pool();

  // This process's copy of the constant fields of the region: other processes can write there, so later changes are not believed.
  struct Constants {
    std::uint32_t clients = 0, threads = 0;
    std::uint64_t lane_events = 0, slots_offset = 0, pool = 0;
    std::string_view xml, model;
    std::vector<LaneSpan> spans;
  };

  SharedMemory memory_;
  Constants constants_;
};

// A pool is made of more than one lane's share.
constexpr bool is_pooled(bool wanted, std::uint32_t clients, std::uint32_t threads) {
  return wanted && std::uint64_t{clients} * threads > 1;
}

// Divides `total_bytes` among `clients` x `threads` lanes by weight; every share is a multiple of the page size.
std::vector<std::uint64_t> arena_shares(std::uint64_t total_bytes, std::uint32_t clients, std::uint32_t threads,
                                        const std::vector<std::int64_t>& weights);

}  // namespace damaris::shm
