#include "server/recovery.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/model/json.hpp"
#include "core/shm/block.hpp"
#include "server/server.hpp"

namespace damaris::server {
namespace {

shm::Region open_dead(const std::string& name) {
  if (!std::filesystem::exists("/dev/shm" + name))
    throw Error(DC_E_SHM, format("there is no region {} on this node; 'damaris recover --list' lists the regions", name));
  shm::Region region = shm::Region::attach(name);
  const shm::RegionHeader& header = region.header();
  if (region.is_served())
    throw Error(DC_E_REGION_IN_USE, format("the server of {} (process {}) is alive; send it SIGTERM to make it store its data",
                                           name, header.server_pid));
  return region;
}

void count_blocks(const shm::Region& region, Leftover& found) {
  for (std::uint32_t lane = 0; lane < region.client_count() * region.threads(); ++lane) {
    if (!region.owns_arena(lane)) continue;
    region.walk_blocks(lane, [&](shm::BlockHeader& block, std::uint64_t) {
      if (shm::state_of(block) != shm::BlockState::published) return;
      if (shm::Form(block.ndims, block.flags).is_append()) {
        ++found.appends;
        found.append_bytes += std::min(block.data_bytes, region.span(lane).arena_bytes);
        return;
      }
      found.first_step = found.datasets == 0 ? block.step : std::min(found.first_step, block.step);
      found.last_step = found.datasets == 0 ? block.step : std::max(found.last_step, block.step);
      found.bytes += std::min(block.data_bytes, region.span(lane).arena_bytes);
      ++found.datasets;
    });
  }
}

Leftover describe(const shm::Region& region, const model::Model& model) {
  const shm::RegionHeader& header = region.header();
  Leftover found;
  found.name = region.name();
  found.simulation = model.simulation;
  found.host = region.host();
  found.folder = model.folder;
  found.server_index = header.server_index;
  found.server_pid = header.server_pid;
  count_blocks(region, found);
  found.spill_file = region.spill_file();
  found.spilled = header.spilled_blocks.load(std::memory_order_relaxed);
  found.datasets += found.spilled;
  found.lost = shm::lost_steps(header);
  found.living_clients = region.living_clients();
  return found;
}

void set(model::Plugin& plugin, const std::string& key, const std::string& value) {
  const auto same = [&](const auto& setting) { return setting.first == key; };
  plugin.settings.erase(std::remove_if(plugin.settings.begin(), plugin.settings.end(), same), plugin.settings.end());
  if (!value.empty()) plugin.settings.emplace_back(key, value);
}

// Keeps only the storage plugins and clears the actions: this server runs alone, and it is too late for actions.
std::shared_ptr<const model::Model> storage_model(model::Model model, const std::string& basename) {
  for (model::Event& event : model.events) event.actions.clear();
  const auto is_no_storage = [](const model::Plugin& plugin) { return !plugin.storage; };
  model.plugins.erase(std::remove_if(model.plugins.begin(), model.plugins.end(), is_no_storage), model.plugins.end());
  for (model::Plugin& plugin : model.plugins) {
    if (plugin.name != "hdf5") continue;
    set(plugin, "exists", "recover");
    set(plugin, "files", "per-server");
    set(plugin, "schedule", "immediate");
    set(plugin, "restart", "");
    if (!basename.empty()) set(plugin, "basename", basename);
  }
  if (model::logs_basename(model) != basename && !basename.empty()) model.simulation = basename;  // no storage has a basename
  return std::make_shared<const model::Model>(std::move(model));
}

// Relative paths in the XML refer to the dead server's working directory.
class WorkingFolder {
 public:
  WorkingFolder(const std::string& folder, const std::string& region)
      : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {  // by descriptor: it may have been unlinked
    if (before_ < 0)
      throw system_error(DC_E_NO_OUTPUT, "cannot open the working folder", errno,
                         "check it, and the limit of open files (ulimit -n)");
    std::error_code error;
    std::filesystem::current_path(folder, error);
    if (!error) return;
    ::close(before_);
    throw Error(DC_E_NO_OUTPUT, format("the folder {} that the server of {} ran in cannot be entered: {}; put it back", folder,
                                       region, error.message()));
  }
  ~WorkingFolder() {
    (void)!::fchdir(before_);
    ::close(before_);
  }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  int before_;
};

void require_unused(shm::Region& region, const Leftover& found) {
  if (!found.living_clients.empty())
    throw Error(DC_E_REGION_IN_USE, format("process {} is still a client of {} and may publish more; end it first",
                                           found.living_clients.front(), found.name));
  if (!region.memory().try_lock(shm::kTakeoverPart))
    throw Error(DC_E_REGION_IN_USE,
                format("another process recovers {} at this moment; wait for its end, or end what 'fuser /dev/shm{}' names",
                       found.name, found.name));
}

Status store(const std::shared_ptr<shm::Region>& region, const model::Model& model, const std::string& basename,
             bool ignore_missing_spill, Recovery& recovery) {
  const WorkingFolder folder(model.folder, region->name());
  const shm::RegionHeader& header = region->header();
  Server server(storage_model(model, basename), region,
                std::make_unique<SingleCoordinator>(header.server_index, header.server_count), {});
  server.adopt(ignore_missing_spill);
  const Status result = server.run();
  recovery.given_up = server.adoption()->given_up();
  recovery.partial = server.partial_steps();
  if (const auto spilled = server.adoption()->spilled_steps()) {
    const auto [first, last] = recovery.steps.value_or(*spilled);
    recovery.steps = {std::min(first, spilled->first), std::max(last, spilled->second)};
  }
  return result;
}

}  // namespace

Leftover inspect_leftover(const std::string& name) {
  const shm::Region region = open_dead(name);
  return describe(region, model::from_json(region.model()));
}

Recovery recover(const std::string& name, const std::string& basename, bool ignore_missing_spill) {
  const auto region = std::make_shared<shm::Region>(open_dead(name));
  const model::Model model = model::from_json(region->model());
  const Leftover before = describe(*region, model);
  require_unused(*region, before);
  Recovery recovery;
  if (!region->memory().has_name()) return recovery;  // another process has just recovered it
  if (before.datasets > before.spilled) recovery.steps = {before.first_step, before.last_step};
  Status result;
  try {
    result = store(region, model, basename, ignore_missing_spill, recovery);
  } catch (const Error& error) {
    // The storage of several servers may still have to record what it had stored, and any storage what it had given up.
    if (region->unreleased_blocks() > 0 || before.lost || region->header().server_count > 1) throw;
    log_line(LogLevel::info, format("there was nothing to store in {}: {}", name, error.what()));
  }
  recovery.left = region->unreleased_blocks();
  const std::size_t all = before.datasets + before.appends;
  recovery.stored = all - std::min(all, recovery.left + recovery.given_up);
  if (recovery.left > 0) {
    recovery.status.code = result.code != DC_OK ? result.code : DC_E_SHM;
    recovery.status.message = result.code != DC_OK ? result.message : "it is damaged, and the data behind the damage are lost";
  } else {
    region->memory().own_name();
  }
  return recovery;
}

void recover_before_start(const std::string& region) {
  const Recovery result = recover(region);
  if (result.left > 0)
    throw Error(DC_E_STALE_REGION, format("{} blocks in the region {} of a dead server could not be stored: {}; see "
                                          "'damaris recover --help', or say <buffer stale=\"discard\"/> to give them up",
                                          result.left, region, result.status.message));
  log_line(LogLevel::info, format("stored {} blocks that a dead server had left in {}", result.stored, region));
}

}  // namespace damaris::server
