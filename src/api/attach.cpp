#include "api/attach.hpp"

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "api/server_library.hpp"
#include "api/spawn_server.hpp"
#include "client/slot.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/freed_memory.hpp"
#include "core/base/log.hpp"
#include "core/base/process_guard.hpp"
#include "core/model/json.hpp"
#include "core/shm/dead_regions.hpp"
#include "core/shm/server_log.hpp"
#include "core/shm/start_lock.hpp"

namespace damaris::api {
namespace {

// Distinguishes runs of the same name: the content of the configuration file, and its path.
struct Identity {
  std::uint64_t content = 0, place = 0;
  bool is_of(const shm::FoundRegion& region) const { return region.config_digest == content && region.config_place == place; }
};

// True if no client is left, whether or not the server has noticed.
bool is_about_to_leave(const shm::Region& region) {
  for (std::uint32_t slot = 0; slot < region.client_count(); ++slot) {
    const auto state = shm::state_of(region.slot(slot));
    const bool is_over = state == shm::SlotState::dead || state == shm::SlotState::drained;
    if (!is_over && (state != shm::SlotState::attached || region.client_lives(slot))) return false;
  }
  return true;
}

using Regions = std::vector<shm::FoundRegion>;

// Each search reads the whole of /dev/shm, in which other users may have put any number of files.
Regions regions_of_job() { return shm::find_regions(shm::job_prefix()); }

// Attaches to a free slot of a living detached server of this run, or returns nullptr. If another client takes a slot first, tries the
// next.
// `is_leaving`: if given, also returns nullptr, and sets it, for a server that is about to leave.
std::unique_ptr<Session> try_attach(const Regions& regions, const Identity& run, int id, bool* is_leaving = nullptr) {
  if (is_leaving != nullptr) *is_leaving = false;
  for (const shm::FoundRegion& found : regions) {
    if (!found.ready || !found.detached || !run.is_of(found)) continue;
    std::shared_ptr<shm::Region> region;
    try {
      region = std::make_shared<shm::Region>(shm::Region::attach(found.name));
    } catch (const Error& gone) {  // since it was found
      log_line(LogLevel::debug, gone.sentence());
      continue;
    }
    const auto frame = std::make_shared<const model::Frame>(model::frame_from_json(region->model().frame));
    for (std::uint32_t slot = 0; slot < region->client_count(); ++slot) {
      if (!client::try_claim(*region, slot, id)) continue;
      configure_log(log_level(frame->log.level), frame->log.file, format("client {}", id));
      return std::make_unique<Session>(region, frame, slot, id);
    }
    if (is_leaving != nullptr && (*is_leaving = is_about_to_leave(*region))) return nullptr;
    throw Error(DC_E_CONFIG, format("the server {} (process {}) already has its {} clients; start it with --clients N, or set "
                                    "<clients count=\"N\"> in the XML",
                                    found.name, found.server_pid, region->client_count()));
  }
  return nullptr;
}

void refuse_other_run(const Regions& regions, const model::Model& model, const Identity& run, const shm::RunKey& key) {
  const std::string same_place = shm::region_prefix(key);
  for (const shm::FoundRegion& found : regions) {
    if (!found.ready || !found.detached || run.is_of(found)) continue;
    if (found.config_place != run.place && found.name.rfind(same_place, 0) != 0) continue;
    const std::string server =
        format("the server of '{}' on this node (process {}, {})", model.simulation, found.server_pid, found.name);
    if (found.config_digest != run.content && found.config_place == run.place)
      throw Error(
          DC_E_CONFIG_MISMATCH,
          format("{} was started with another version of {}; stop it, or set DAMARIS_JOB to run beside it", server, model.file));
    throw Error(
        DC_E_REGION_IN_USE,
        format("{} serves another run, not that of {}; let it finish, or set DAMARIS_JOB to run beside it", server, model.file));
  }
}

// `started`: the log of the server that this client has started.
Error no_server(const model::Model& model, int id, const std::optional<std::string>& started) {
  const std::string server = format("start 'damaris server {}'", model.file);
  std::string remedy = server + " or set <server start=\"auto\"/>";
  if (model.architecture.start_server) remedy = "give <server attach-timeout=...> more";
  if (started) remedy = format("this client started one: {}, or {} by hand", shm::see_log(*started), server);
  return Error(DC_E_TIMEOUT, format("client {} found no server of '{}' on this node within {} ms; {}", id, model.simulation,
                                    model.architecture.attach_timeout_ms, remedy));
}

// The client that holds the start lock starts the server. `regions`: what was found just now.
std::unique_ptr<Session> attach_to_server(const model::Model& model, const Identity& run, int id, Regions regions) {
  const Deadline deadline = Deadline::after_ms(model.architecture.attach_timeout_ms);
  const shm::RunKey key = shm::run_key(model);
  shm::StartLock lock(key);
  std::optional<std::string> started;
  bool is_leaving = false, is_held = false;  // is_held: by another start
  for (;; regions = regions_of_job()) {
    if (auto session = try_attach(regions, run, id, &is_leaving)) return session;
    if (deadline.passed()) break;
    const bool may_start = model.architecture.start_server && !started && !is_leaving;
    is_held = may_start && !lock.try_take();
    if (may_start && !is_held) {
      regions = regions_of_job();  // another start may have ended meanwhile
      if (auto session = try_attach(regions, run, id)) return session;
      refuse_other_run(regions, model, run, key);
      started = shm::log_of_background_server(model);
      spawn_server(model.file, 0, deadline.left_ms(model.architecture.attach_timeout_ms));
      continue;
    }
    if (!model.architecture.start_server) refuse_other_run(regions, model, run, key);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (is_leaving)
    throw Error(DC_E_TIMEOUT,
                format("client {}: the server of '{}' on this node has lost all of its clients, and has not ended within {} ms; "
                       "start again when it has",
                       id, model.simulation, model.architecture.attach_timeout_ms));
  if (is_held) throw lock.held(format("client {} waited {} ms", id, model.architecture.attach_timeout_ms));
  throw no_server(model, id, started);
}

}  // namespace

std::unique_ptr<Session> start_without_mpi(const std::string& config, int id) {
  const SignalGuard process_guard;
  if (id < 0) throw Error(DC_E_ARGUMENT, format("client id {} is negative; ids are 0 or more (usually the rank)", id));
  const std::string xml = read_config_file(config);
  const Identity run = {digest(xml), place_digest(config)};
  bool is_leaving = false;
  Regions regions;
  std::optional<Error> unlisted;  // an error only if a region is needed, which is not the case in place
  try {
    regions = regions_of_job();
    if (auto session = try_attach(regions, run, id, &is_leaving)) return session;
  } catch (const Error& error) {
    if (error.code() != DC_E_SHM) throw;
    unlisted = error;
  }
  auto model = server_library().parse(xml, config);
  configure_log(log_level(model->log.level), model->log.file, format("client {}", id));
  if (model->architecture.dedicated_cores > 0 && unlisted) throw Error(*unlisted);
  if (model->architecture.dedicated_cores > 0) {
    auto session = attach_to_server(*model, run, id, std::move(regions));
    model.reset();
    return_memory_of_parse(xml.size());
    return session;
  }
  if (model::needs_mpi(*model)) throw Error(DC_E_CONFIG, model::refusal_without_mpi(*model));
  server::StartOptions options;
  options.sources = {id};
  options.index = id;
  return std::make_unique<Session>(server_library().start({xml, model}, std::move(options)), model, id);
}

}  // namespace damaris::api
