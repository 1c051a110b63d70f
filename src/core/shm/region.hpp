// The region: the shared memory of a server and its clients. Created by the server, attached by clients, described by its own header.
// Used by: the server's intake thread, each client, recovery; constant after start-up except for the shared fields of layout.hpp.
// Before it: the compiled model. After it: lanes, arenas and mailboxes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/json.hpp"
#include "core/shm/arena.hpp"
#include "core/shm/layout.hpp"
#include "core/shm/shared_memory.hpp"

namespace damaris::shm {

struct RegionSpec {
  std::string name;  // of the shared memory; "": private memory for a server in place
  std::string simulation, host;
  std::int32_t server_index = 0;
  std::int32_t server_count = 1;
  bool detached = false;           // clients look it up by themselves
  std::string xml;                 // the configuration as read
  std::uint64_t config_place = 0;  // place_digest of its path
  std::uint64_t run = 0;           // digest of its run_identity, or a number agreed on by its processes
  std::string spill;               // absolute path of the spill file; "": none
  model::JsonParts model;          // compiled
  std::string variables;           // variable_table_of the model
  std::uint32_t clients = 1;
  std::uint32_t threads = 1;
  std::uint64_t lane_messages = 1024;    // a power of two
  std::uint64_t buffer_bytes = 1 << 20;  // all arenas together
  std::vector<std::int64_t> weights;     // of the clients' arenas; empty: equal; the last one repeats
  bool pooled = false;                   // one arena for all lanes, under a lock; no effect with a single lane
  std::uint64_t log_files = 0;           // of all logs
};

class Region {
 public:
  // Creates the region; clients cannot attach before set_ready(). Allocates header, lanes and a pool; each client allocates its own arenas.
  // Throws Error(DC_E_SHM) if memory is short, Error(DC_E_CONFIG) if an arena would be too small to hold anything.
  static Region create(const RegionSpec& spec);
  // Maps the region `name` and checks magic, ABI version, sizes and offsets before anything else is read.
  // Throws Error(DC_E_SHM) or Error(DC_E_VERSION).
  static Region attach(const std::string& name);
  // The same for memory that contains a region.
  static Region attach(SharedMemory memory);

  // Allows clients to attach.
  void set_ready() noexcept;

  RegionHeader& header() const noexcept { return *reinterpret_cast<RegionHeader*>(memory_.data()); }
  ClientSlot& slot(std::uint32_t client) const noexcept;
  const LaneSpan& span(std::uint32_t lane) const noexcept { return constants_.spans[lane]; }
  LaneHeader* lane(std::uint32_t lane) const noexcept { return reinterpret_cast<LaneHeader*>(at(span(lane).lane_offset)); }
  PoolHeader* pool() const noexcept { return constants_.pool == 0 ? nullptr : reinterpret_cast<PoolHeader*>(at(constants_.pool)); }
  std::uint64_t log_files() const noexcept { return constants_.log_files; }
  LogEnd& log_end(std::uint64_t file) const noexcept { return reinterpret_cast<LogEnd*>(at(constants_.ends))[file]; }
  // True if the lane owns its arena: every arena has exactly one owner, a pool the first lane.
  bool owns_arena(std::uint32_t lane) const noexcept { return span(lane).arena == lane; }
  std::byte* at(std::uint64_t offset) const noexcept { return memory_.data() + offset; }
  std::uint32_t client_count() const noexcept { return constants_.clients; }
  std::uint32_t threads() const noexcept { return constants_.threads; }
  std::uint64_t lane_messages() const noexcept { return constants_.lane_messages; }
  std::string_view xml() const noexcept { return constants_.xml; }
  // For recovery and the server. A client reads only the frame, and finds its variables in the table.
  model::JsonPartViews model() const noexcept { return constants_.model; }
  std::string_view variables() const noexcept { return constants_.variables; }
  // The name of the machine that created the region. It becomes part of file names, so it never contains '/'.
  std::string host() const;
  // Path of the server's spill file; "" for none, and if the field is not a valid path for this region, because the file will be opened and
  // later removed.
  std::string spill_file() const;
  const std::string& name() const noexcept { return memory_.name(); }
  SharedMemory& memory() noexcept { return memory_; }
  const SharedMemory& memory() const noexcept { return memory_; }

  // Whether its server still has it. One that has closed it keeps its lock until it has unmapped it, which takes a while for a large one; its
  // process may go on.
  bool is_served() const noexcept { return memory_.is_held(kServerPart); }
  // Whether the process that has claimed the slot lives and has not left it.
  bool client_lives(std::uint32_t client) const noexcept { return memory_.is_held(kClientParts + client); }
  // The processes that may still publish: clients that are attached, or about to be, and have not left.
  std::vector<std::int32_t> living_clients() const;

  // Number of published blocks that no server has released, in all arenas and the spill file: the data of a dead job to be recovered. The
  // space behind a damaged block header counts as one block.
  std::size_t unreleased_blocks() const;
  // Calls `visit` for each block of the lane's arena, as walk_arena does, without touching memory that was never allocated: a dead region
  // is read also when /dev/shm is full. Returns false if the arena is damaged; one that its client never initialized has no blocks.
  bool walk_blocks(std::uint32_t lane, const VisitBlock& visit) const;

 private:
  explicit Region(SharedMemory memory) : memory_(std::move(memory)) {}
  bool is_there(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  bool arena_never_initialized(std::uint32_t lane, std::uint64_t readable) const noexcept;
  void require_header() const;
  bool load_constants();
  void make_lanes(std::uint64_t lanes, std::uint64_t stride, std::uint64_t arenas, const std::vector<std::uint64_t>& shares);
  void make_pool();

  // This process's validated copy of the constant fields: other processes can overwrite the originals, so they are read only once.
  struct Constants {
    std::uint32_t clients = 0, threads = 0;
    std::uint64_t lane_messages = 0, slots_offset = 0, pool = 0, ends = 0, log_files = 0;
    std::string_view xml, variables;
    model::JsonPartViews model;
    std::vector<LaneSpan> spans;
  };

  SharedMemory memory_;
  Constants constants_;
};

// A pool makes sense only for more than one lane.
constexpr bool is_pooled(bool wanted, std::uint32_t clients, std::uint32_t threads) {
  return wanted && std::uint64_t{clients} * threads > 1;
}

// Divides `total_bytes` among `clients` x `threads` lanes by weight; every share is a multiple of the page size.
std::vector<std::uint64_t> arena_shares(std::uint64_t total_bytes, std::uint32_t clients, std::uint32_t threads,
                                        const std::vector<std::int64_t>& weights);

}  // namespace damaris::shm
