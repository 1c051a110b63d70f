// dc_mpi_initialize: splits one communicator into clients and servers, on all ranks or none; serves on the ranks of servers, and
// ends the session of a client that calls MPI_Finalize without dc_finalize.
#include <damaris/damaris_mpi.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "api/attach.hpp"
#include "api/guard.hpp"
#include "api/session.hpp"
#include "client/slot.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/model/json.hpp"
#include "core/shm/dead_regions.hpp"
#include "mpi/coordinator.hpp"
#include "mpi/mpi_call.hpp"
#include "mpi/pinning.hpp"
#include "mpi/placement.hpp"
#include "server/library/serving.hpp"

namespace damaris::mpi {
namespace {

// ---- agreement on failures: an error on one rank at start-up is thrown on every rank, so that no rank waits for one that has failed

struct FailedRanks {
  int first = -1;  // lowest rank that failed, -1: none
  bool all = false;
};

FailedRanks failed_ranks(MPI_Comm communicator, bool failed) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const int mine[2] = {failed ? rank : size, failed ? 1 : 0};
  int least[2] = {};
  check(MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
  return {least[0] == size ? -1 : least[0], least[1] == 1};
}

// Broadcasts `text` of rank `root`; returns it on every rank.
std::string broadcast(MPI_Comm communicator, std::string text, int root = 0) {
  auto length = static_cast<unsigned long long>(text.size());
  check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, root, communicator), "MPI_Bcast");
  text.resize(length);
  check(MPI_Bcast(text.data(), static_cast<int>(length), MPI_BYTE, root, communicator), "MPI_Bcast");
  return text;
}

// Runs `step` on every rank of `communicator`. If it fails on any, throws the same error on every rank: that of the lowest failed rank,
// with the prefix "rank N: " unless all failed. `step` must not make collective calls over `communicator`.
void all_or_none(MPI_Comm communicator, const std::function<void()>& step) {
  Status outcome = outcome_of(step);
  const FailedRanks failures = failed_ranks(communicator, outcome.code != DC_OK);
  if (failures.first < 0) return;
  check(MPI_Bcast(&outcome.code, 1, MPI_INT, failures.first, communicator), "MPI_Bcast");
  const std::string sentence = broadcast(communicator, outcome.message, failures.first);
  throw Error(static_cast<dc_code>(outcome.code), failures.all ? sentence : format("rank {}: {}", failures.first, sentence));
}

// Runs `step` on rank 0 only; throws its error on every rank.
void rank_0_or_none(MPI_Comm communicator, const std::function<void()>& step) {
  int rank = 0;
  check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  Status outcome = rank == 0 ? outcome_of(step) : Status{};
  check(MPI_Bcast(&outcome.code, 1, MPI_INT, 0, communicator), "MPI_Bcast");
  if (outcome.code != DC_OK) throw Error(static_cast<dc_code>(outcome.code), broadcast(communicator, outcome.message));
}

// ---- a program that calls MPI_Finalize without dc_finalize: otherwise the server would wait for the client, and MPI_Finalize for the server

int end_session() {
  if (api::session() == nullptr || !api::session()->is_own()) return DC_OK;
  log_line(LogLevel::warning, "the program calls MPI_Finalize without dc_finalize: done for it, and what it would return is lost");
  const int code = api::guard([] {
    const Status report = api::session()->finalize();
    if (report.code != DC_OK) log_line(LogLevel::error, report.message);
    return DC_OK;
  });
  api::set_session(nullptr);
  return code;
}

extern "C" int damaris_mpi_at_finalize(MPI_Comm, int, void*, void*) {
  (void)api::guard(end_session);
  return MPI_SUCCESS;
}

// Call after a session has started. MPI_Finalize first deletes the attributes of MPI_COMM_SELF (MPI standard, "Allowing User Functions at
// MPI Finalization"), while all of MPI still works.
void finalize_before_mpi() {
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID)
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, damaris_mpi_at_finalize, &key, nullptr), "MPI_Comm_create_keyval");
  int there = 0;
  void* value = nullptr;
  check(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &there), "MPI_Comm_get_attr");
  if (there == 0) check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
}

// ---- a server rank

std::atomic<bool> stop{false};

extern "C" void damaris_mpi_on_sigterm(int) { stop.store(true); }

class DrainOnSigterm {
 public:
  DrainOnSigterm() {
    stop.store(false);  // of an earlier run in this process
    struct sigaction action = {};
    action.sa_handler = damaris_mpi_on_sigterm;
    sigaction(SIGTERM, &action, &before_);
  }
  ~DrainOnSigterm() { sigaction(SIGTERM, &before_, nullptr); }
  DrainOnSigterm(const DrainOnSigterm&) = delete;
  DrainOnSigterm& operator=(const DrainOnSigterm&) = delete;

 private:
  struct sigaction before_ = {};
};

// Serves until the clients have finalized, and returns the first failure of the run. During the call SIGTERM drains instead of killing; the
// old handler is restored.
Status serve(server::Serving& server) {
  const DrainOnSigterm drain;
  return server.run(&stop);
}

// ---- the start

// True if the session of this process was started here: then every client has one.
bool started_here = false;

using server::Configuration;

void require_same_on_all(const Communicator& world, const std::string& path, const std::string& xml) {
  unsigned long long mine = digest(xml);
  std::vector<unsigned long long> all(static_cast<std::size_t>(world.size()));
  check(MPI_Allgather(&mine, 1, MPI_UNSIGNED_LONG_LONG, all.data(), 1, MPI_UNSIGNED_LONG_LONG, world.get()), "MPI_Allgather");
  const auto other = std::find_if(all.begin(), all.end(), [&](unsigned long long digest) { return digest != all[0]; });
  if (other == all.end()) return;
  const int rank = static_cast<int>(other - all.begin());
  throw Error(DC_E_CONFIG_MISMATCH,
              format("rank {} reads a different configuration than rank 0, from {}; give every rank the same file", rank,
                     broadcast(world.get(), path, rank)));
}

struct Agreed {
  std::string xml;
  std::shared_ptr<const model::Frame> frame;
  model::JsonParts model;  // compiled; at first the rest on rank 0 only
};

// Every rank reads the file, to detect ranks that see a different one; only rank 0 parses it.
Agreed agree_on_configuration(const Communicator& world, const char* config) {
  Agreed agreed;
  all_or_none(world.get(), [&] { agreed.xml = read_config_file(config); });
  require_same_on_all(world, config, agreed.xml);
  rank_0_or_none(world.get(), [&] { agreed.model = model::to_json_parts(*api::server_library().parse(agreed.xml, config)); });
  agreed.model.frame = broadcast(world.get(), std::move(agreed.model.frame));
  agreed.frame = std::make_shared<const model::Frame>(model::frame_from_json(agreed.model.frame));
  return agreed;
}

// With the variables and plugins, of which clients have no use.
Configuration whole_configuration(const Agreed& agreed) {
  const model::JsonPartViews parts = {agreed.model.frame, agreed.model.rest};
  return {agreed.xml, std::make_shared<const model::Model>(model::from_json(parts))};
}

std::vector<int> nodes_of_all_ranks(const Communicator& world) {
  const char* list = std::getenv("DAMARIS_RANKS_PER_NODE");
  const std::string wish = broadcast(world.get(), list == nullptr ? "" : list);
  if (!wish.empty()) return virtual_nodes(wish, world.size());
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_split_type(world.get(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &handle), "MPI_Comm_split_type");
  const Communicator node(handle);
  int lowest = world.rank();
  check(MPI_Bcast(&lowest, 1, MPI_INT, 0, node.get()), "MPI_Bcast");
  std::vector<int> node_of(static_cast<std::size_t>(world.size()));
  check(MPI_Allgather(&lowest, 1, MPI_INT, node_of.data(), 1, MPI_INT, world.get()), "MPI_Allgather");
  return node_of;
}

void start_log(const model::Frame& frame, const std::string& process_name) {
  configure_log(log_level(frame.log.level), frame.log.file, process_name);
}

// Distinguishes this run from others.
std::uint64_t agree_on_nonce(const Communicator& world) {
  unsigned long long nonce = shm::make_nonce();
  check(MPI_Bcast(&nonce, 1, MPI_UNSIGNED_LONG_LONG, 0, world.get()), "MPI_Bcast");
  return nonce;
}

// No dedicated core: every rank is its own server.
MPI_Comm start_in_place(const Communicator& world, Agreed agreed) {
  agreed.model.rest = broadcast(world.get(), std::move(agreed.model.rest));
  const Configuration configuration = whole_configuration(agreed);
  const auto channels = std::make_shared<Channels>(world.get());
  const std::uint64_t run = agree_on_nonce(world);
  Communicator clients = Communicator::duplicate(world.get());
  std::unique_ptr<api::Session> session;
  all_or_none(world.get(), [&] {
    start_log(*configuration.model, format("client {}", world.rank()));
    server::StartOptions options;
    options.sources = {world.rank()};
    options.run = run;
    options.coordinator = std::make_unique<MpiCoordinator>(channels, MpiCoordinator::Needs::of(*configuration.model, true), true);
    session = std::make_unique<api::Session>(api::server_library().start(configuration, std::move(options)), configuration.model,
                                             world.rank());
  });
  api::set_session(std::move(session));
  return clients.release();
}

// Creates the server of a server rank, before any client attaches.
std::unique_ptr<server::Serving> make_server(const Configuration& configuration, const Role& role, std::uint64_t nonce,
                                             const std::shared_ptr<Channels>& channels) {
  start_log(*configuration.model, format("server {}", role.server_index));
  server::StartOptions options;
  options.mode = server::ServerMode::split;
  options.clients = role.group_clients;
  options.sources = role.group_sources;
  options.node = role.node;
  options.run = nonce;
  options.coordinator = std::make_unique<MpiCoordinator>(channels, MpiCoordinator::Needs::of(*configuration.model, false), false);
  return api::server_library().start(configuration, std::move(options));
}

std::unique_ptr<api::Session> attach(const Agreed& agreed, const Role& role, const std::string& region_name) {
  start_log(*agreed.frame, format("client {}", role.source));
  const auto region = std::make_shared<shm::Region>(shm::Region::attach(region_name));
  if (region->header().config_digest != digest(agreed.xml))
    throw Error(DC_E_CONFIG_MISMATCH,
                format("the region {} was made from another configuration than {}", region_name, agreed.frame->file));
  if (!client::try_claim(*region, static_cast<std::uint32_t>(role.slot), role.source))
    throw Error(DC_E_DUPLICATE, format("slot {} of the region {} is taken by another process", role.slot, region_name));
  return std::make_unique<api::Session>(region, agreed.frame, static_cast<std::uint32_t>(role.slot), role.source);
}

struct Started {
  MPI_Comm clients = MPI_COMM_NULL;
  std::unique_ptr<server::Serving> server;  // on server ranks
};

Started start_split(const Communicator& world, Agreed agreed, const std::vector<int>& nodes) {
  const model::Architecture& architecture = agreed.frame->architecture;
  const Role role = role_of(world.rank(), nodes, architecture.dedicated_cores);
  // Clients in the order of their original ranks, servers in the order of their indices.
  Communicator same = Communicator::split(world.get(), role.server ? 1 : 0, role.server ? role.server_index : world.rank());
  const Communicator group = Communicator::split(world.get(), role.server_index, role.server ? -1 : world.rank());
  const bool has_rest = role.server || world.rank() == 0;
  const Communicator servers_and_0 = Communicator::split(world.get(), has_rest ? 0 : MPI_UNDEFINED, world.rank());
  if (has_rest) agreed.model.rest = broadcast(servers_and_0.get(), std::move(agreed.model.rest));
  const Configuration configuration = role.server ? whole_configuration(agreed) : Configuration{};
  agreed.model = {};
  if (has_rest && !role.server) return_memory_of_parse(agreed.xml.size());
  const std::uint64_t nonce = agree_on_nonce(world);
  const auto channels = role.server ? std::make_shared<Channels>(same.get()) : nullptr;
  Started started;
  std::string region_name;
  all_or_none(world.get(), [&] {
    if (!role.server) return;
    if (architecture.pin) pin_server(nodes, world.rank(), architecture.dedicated_cores);
    started.server = make_server(configuration, role, nonce, channels);
    region_name = started.server->region()->name();
  });
  region_name = broadcast(group.get(), region_name);
  std::unique_ptr<api::Session> session;
  all_or_none(world.get(), [&] {
    if (!role.server) session = attach(agreed, role, region_name);
  });
  if (role.server) return started;
  api::set_session(std::move(session));
  started.clients = same.release();
  return started;
}

void require_mpi() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0)
    throw Error(DC_E_NO_MPI, "dc_mpi_initialize: MPI is not initialized; call MPI_Init first, or dc_initialize without MPI");
  if (finalized != 0) throw Error(DC_E_NO_MPI, "dc_mpi_initialize: MPI is finalized; start Damaris before MPI_Finalize");
}

// Checked locally on each rank, before any collective call: if clients start twice, their servers cannot take part.
void require_first_start(MPI_Comm world) {
  if (started_here) api::require_no_session();
  int inter = 0;
  if (world != MPI_COMM_NULL) check(MPI_Comm_test_inter(world, &inter), "MPI_Comm_test_inter");
  if (world == MPI_COMM_NULL || inter != 0)
    throw Error(DC_E_ARGUMENT, format("dc_mpi_initialize: the communicator is {}; give MPI_COMM_WORLD or a part of it",
                                      inter != 0 ? "an intercommunicator" : "MPI_COMM_NULL"));
}

void require_arguments(const char* config, const MPI_Comm* clients, const int* is_client) {
  api::require_no_session();
  if (config == nullptr) throw Error(DC_E_ARGUMENT, "dc_mpi_initialize: argument `config` is NULL");
  if (clients == nullptr || is_client == nullptr)
    throw Error(DC_E_ARGUMENT, "dc_mpi_initialize: arguments `clients` and `is_client` must not be NULL");
}

// Makes all collective calls over the given communicator: its duplicate is freed before a server starts to serve.
Started start(const char* config, MPI_Comm given, const MPI_Comm* clients, const int* is_client) {
  const Communicator world = Communicator::duplicate(given);
  all_or_none(world.get(), [&] { require_arguments(config, clients, is_client); });
  Agreed agreed = agree_on_configuration(world, config);
  const std::vector<int> nodes = nodes_of_all_ranks(world);
  if (agreed.frame->architecture.dedicated_cores > 0) return start_split(world, std::move(agreed), nodes);
  Started started;
  started.clients = start_in_place(world, std::move(agreed));
  return started;
}

int initialize(const char* config, MPI_Comm given, MPI_Comm* clients, int* is_client) {
  if (clients != nullptr) *clients = MPI_COMM_NULL;
  if (is_client != nullptr) *is_client = 1;
  const SignalGuard process_guard;  // on a server rank, for the whole run
  require_mpi();
  require_first_start(given);
  const Started started = start(config, given, clients, is_client);
  *clients = started.clients;
  started_here = true;
  if (started.server == nullptr) finalize_before_mpi();
  if (started.server == nullptr) return DC_OK;
  *is_client = 0;
  fill_standard_streams();
  const Status result = serve(*started.server);
  return result.code == DC_OK ? DC_OK : api::set_last_error(result.code, result.message);
}

}  // namespace

}  // namespace damaris::mpi

extern "C" int dc_mpi_initialize(const char* config, MPI_Comm world, MPI_Comm* clients, int* is_client) {
  return damaris::api::guard([&] { return damaris::mpi::initialize(config, world, clients, is_client); });
}
