#include "server/start.hpp"

#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>

#include "config/config.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/region_names.hpp"
#include "damaris/version.h"
#include "server/make_region.hpp"
#include "server/recovery.hpp"
#include "server/server.hpp"

namespace damaris::server {
namespace {

// Refuses a start while another run writes to the same place or, for a detached server, while clients could mistake another server for this
// one. Runs that write elsewhere are no obstacle.
void require_only_run(const model::Model& model, const shm::RunKey& key, const StartOptions& options) {
  const bool detached = options.mode == ServerMode::detached;
  const std::uint64_t place = place_digest(model.file);
  const std::string same_output = shm::region_prefix(key), this_run = shm::run_prefix(key, options.run);
  const auto is_blocking = [&](const shm::FoundRegion& other) {
    if (detached && other.detached && other.config_place == place) return true;
    return other.name.rfind(same_output, 0) == 0 && (options.run == 0 || other.name.rfind(this_run, 0) != 0);
  };
  const auto found = shm::wait_until_clear(detached ? shm::job_prefix() : same_output, model.architecture.attach_timeout_ms,
                                           is_blocking, options.stop);
  if (!found) return;
  const std::string it = format("(process {}, region {})", found->server_pid, found->name);
  throw Error(DC_E_REGION_IN_USE,
              detached ? format("a server of '{}' already runs on this node {}; let it finish, or set DAMARIS_JOB to run beside it",
                                model.simulation, it)
                       : format("another run of {} is under way on this node {}; wait for its end, or set DAMARIS_JOB and write to "
                                "another folder to run beside it",
                                model.file, it));
}

// Precondition: this process, or the one that started it, holds the start lock.
std::shared_ptr<shm::Region> make_named_region(const Configuration& configuration, const shm::RunKey& key,
                                               const StartOptions& options, RegionPlace place) {
  const model::Model& model = *configuration.model;
  require_only_run(model, key, options);
  if (place.server_index == 0) shm::warn_of_others(key);
  shm::clear_dead_regions(key, model.architecture.stale, recover_before_start);
  place.name = shm::region_name(key, options.run != 0 ? options.run : shm::make_nonce(), options.node, place.server_index);
  return make_region(model, configuration.xml, options.clients, place);
}

std::shared_ptr<const model::Model> parse(const std::string& xml, const std::string& path) {
  return std::make_shared<const model::Model>(config::parse(xml, path));
}

// The standard library's word for a path that cannot be resolved, for instance a relative one in a folder that was removed.
Error unresolved(const model::Model& model, const std::filesystem::filesystem_error& error) {
  std::error_code gone;
  (void)std::filesystem::current_path(gone);
  const std::string what = gone ? format("the working folder is gone ({})", gone.message()) : std::string(error.what());
  const std::string remedy = gone ? "start in a folder that is there" : "check that path";
  return Error(DC_E_IO, format("{}: its paths cannot be resolved, as {}; {}", model.file, what, remedy));
}

// Of which run() has several.
void require_threads() try {
  std::thread([] {}).join();
} catch (const std::system_error& refused) {
  throw Error(DC_E_MEMORY,
              format("the server cannot have a second thread: {}; raise ulimit -u, ulimit -v or pids.max of its control group",
                     refused.code().message()));
}

constexpr Library kLibrary = {parse, start_server};

}  // namespace

std::unique_ptr<Serving> start_server(const Configuration& configuration, StartOptions options) try {
  constexpr int kMost = std::numeric_limits<int>::max();  // index + 1 would overflow
  const int index = options.index;
  if (options.coordinator == nullptr)
    options.coordinator = std::make_unique<SingleCoordinator>(index, index == kMost ? kMost : index + 1);
  const bool in_place = options.mode == ServerMode::in_place;
  RegionPlace place;
  place.host = host_name();
  place.server_index = options.coordinator->index();
  place.server_count = in_place ? 1 : options.coordinator->count();
  place.detached = options.mode == ServerMode::detached;
  place.run = options.run;
  const model::Model& model = *configuration.model;
  const auto make = [&](const std::shared_ptr<shm::Region>& region) {
    return std::make_unique<Server>(configuration.model, region, std::move(options.coordinator), std::move(options.sources));
  };
  if (in_place) return make(make_region(model, configuration.xml, options.clients, place));
  require_threads();
  const shm::RunKey key = shm::run_key(model);
  std::optional<shm::StartLock> lock(key);
  if (!options.holds_lock) lock->take(model.architecture.attach_timeout_ms, options.stop);
  const auto region = make_named_region(configuration, key, options, place);
  // Release the lock in a split run, because plugins may initialize collectively with servers that still wait for it. A detached server
  // keeps it: clients that got the lock before this server is ready would start another one.
  if (options.mode == ServerMode::split) lock.reset();
  return make(region);
} catch (const std::filesystem::filesystem_error& error) {
  throw unresolved(*configuration.model, error);
}

}  // namespace damaris::server

const damaris::server::Library* damaris_server_library(const char* version) {
  return std::strcmp(version, DAMARIS_VERSION) == 0 ? &damaris::server::kLibrary : nullptr;
}
