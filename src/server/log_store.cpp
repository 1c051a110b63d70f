#include "server/log_store.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/states.hpp"

namespace damaris::server {
namespace {

// As <hdf5 exists> says; a region that is ready before its server begins is a dead one's.
logs::Existing existing_of(const model::Model& model, const shm::Region& region) {
  if (shm::state_of(region.header()) != shm::RegionState::making) return logs::Existing::recover;
  for (const model::Plugin& plugin : model.plugins)
    for (const auto& [key, value] : plugin.settings) {
      if (plugin.name != "hdf5" || key != "exists") continue;
      if (value == "overwrite") return logs::Existing::overwrite;
      if (value == "refuse") return logs::Existing::refuse;
      if (value == "append") return logs::Existing::append;
    }
  return logs::Existing::automatic;
}

}  // namespace

LogStore::LogStore(const model::Model& model, shm::Region& region, const std::string& host, int server) : model_(model) {
  logs::LogSettings settings;
  settings.basename = model::logs_basename(model);
  settings.host = host;
  settings.server = server;
  settings.run = region.name().empty() ? region.header().run : digest(region.name());
  settings.existing = existing_of(model, region);
  for (const model::StreamLog& log : model.logs) {
    settings.name = log.name;
    settings.files = log.files;
    settings.block_bytes = log.block_bytes;
    writers_.push_back(std::make_unique<logs::Writer>(settings));
  }
  if (settings.existing == logs::Existing::recover) return;
  for (std::size_t log = 0; log < writers_.size(); ++log)
    for (int file = 0; file < model.logs[log].files; ++file) {
      shm::LogEnd& end = region.log_end(model::first_file(model, log) + static_cast<std::uint32_t>(file));
      end.bytes.store(writers_[log]->end(static_cast<std::uint32_t>(file)), std::memory_order_relaxed);
    }
}

void LogStore::write(const std::vector<LogAppend>& appends, std::size_t& refused) {
  std::vector<std::vector<logs::Append>> of_log(writers_.size());
  for (const LogAppend& append : appends)
    of_log[append.log].push_back({append.file - model::first_file(model_, append.log),
                                  append.stream,
                                  {append.bytes.offset, append.bytes.bytes},
                                  append.bytes.data});
  for (std::size_t log = 0; log < writers_.size(); ++log)
    if (!of_log[log].empty()) refused += writers_[log]->store(of_log[log]);
}

LogsStored LogStore::store(StoreLogs& job) {
  LogsStored stored;
  stored.synced.resize(job.commits.size());
  stored.failure = outcome_of([&] { write(job.appends, stored.refused); });
  if (stored.failure.code == DC_OK) {
    std::vector<std::optional<Status>> synced(writers_.size());
    for (std::size_t i = 0; i < job.commits.size(); ++i) {
      const LogCommit& commit = job.commits[i];
      if (!commit.durable) continue;
      if (!synced[commit.log]) synced[commit.log] = outcome_of([&] { writers_[commit.log]->sync(); });
      stored.synced[i] = *synced[commit.log];
    }
  }
  if (stored.refused > 0)
    log_line(
        LogLevel::error,
        format("{} appends to logs are refused: others lie at their places, so a client has damaged the region", stored.refused));
  stored.job = std::move(job);
  return stored;
}

Status LogStore::finish(bool complete) {
  Status first;
  for (const auto& writer : writers_)
    if (const Status status = outcome_of([&] { writer->finish(complete); }); first.code == DC_OK) first = status;
  return first;
}

}  // namespace damaris::server
