#include "server/log_store.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/shm/block.hpp"

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

Status refusal_of(const std::string& log) {
  return {DC_E_IO, format("appends to log '{}' were refused, because their places cannot be true: a client has damaged the region; "
                          "find the client that writes outside of its memory, and repeat the run",
                          log)};
}

// What the server that was killed had found; the region may be damaged.
logs::Before before_of(const shm::Region& region, std::uint32_t file) {
  using Kind = logs::Before::Kind;
  if (file >= region.log_files()) return {};
  const shm::LogEnd& end = region.log_end(file);
  const bool known = end.before <= static_cast<std::uint64_t>(Kind::continued);
  return {known ? static_cast<Kind>(end.before) : Kind::none, end.run_before};
}

}  // namespace

LogStore::LogStore(const model::Model& model, shm::Region& region, const std::string& host, int server) : model_(model) {
  logs::LogSettings settings;
  settings.basename = model::logs_basename(model);
  settings.host = host;
  settings.server = server;
  settings.run = region.name().empty() ? region.header().run : digest(region.name());
  settings.existing = existing_of(model, region);
  const bool recovers = settings.existing == logs::Existing::recover;
  for (const model::StreamLog& log : model.logs) {
    if (recovers) settings.before = before_of(region, model::first_file(model, writers_.size()));
    settings.name = log.name;
    settings.files = log.files;
    settings.block_bytes = log.block_bytes;
    writers_.push_back(std::make_unique<logs::Writer>(settings));
  }
  if (recovers) return;
  for (std::size_t log = 0; log < writers_.size(); ++log)
    for (int file = 0; file < model.logs[log].files; ++file) {
      shm::LogEnd& end = region.log_end(model::first_file(model, log) + static_cast<std::uint32_t>(file));
      end.bytes.store(writers_[log]->end(static_cast<std::uint32_t>(file)), std::memory_order_relaxed);
      end.before = static_cast<std::uint64_t>(writers_[log]->before().kind);
      end.run_before = writers_[log]->before().run;
    }
}

void LogStore::write(std::size_t log, std::vector<LogAppend>& appends, LogsStored& stored) {
  std::vector<logs::Append> of_log;
  for (const LogAppend& append : appends)
    if (append.log == log && !append.is_implausible)
      of_log.push_back({append.file - model::first_file(model_, log),
                        append.stream,
                        {append.bytes.offset, append.bytes.bytes},
                        append.bytes.data});
  const auto rejected =
      std::count_if(appends.begin(), appends.end(), [&](const LogAppend& a) { return a.log == log && a.is_implausible; });
  if (rejected > 0) writers_[log]->refuse();
  const Error* const block_reason = writers_[log]->block_reason();
  if (block_reason != nullptr && !of_log.empty())
    stored.left = {block_reason->code(), block_reason->sentence()};
  else if (!of_log.empty())
    stored.rejected += writers_[log]->store(of_log);
  stored.rejected += static_cast<std::size_t>(rejected);
  for (LogAppend& append : appends)
    if (append.log == log) append.fate = block_reason != nullptr ? LogAppend::Fate::left : LogAppend::Fate::stored;
}

LogsStored LogStore::store(StoreLogs& job) {
  LogsStored stored;
  stored.synced.resize(job.commits.size());
  for (std::size_t log = 0; log < writers_.size(); ++log)
    if (const Status status = outcome_of([&] { write(log, job.appends, stored); }); status.code != DC_OK) stored.failure = status;
  if (stored.failure.code == DC_E_MEMORY) throw std::bad_alloc();  // no file system has refused anything
  if (stored.failure.code == DC_OK) {
    std::vector<std::optional<Status>> synced(writers_.size());
    for (std::size_t i = 0; i < job.commits.size(); ++i) {
      const LogCommit& commit = job.commits[i];
      if (commit.durable && !synced[commit.log]) synced[commit.log] = outcome_of([&] { writers_[commit.log]->sync(); });
      if (commit.durable) stored.synced[i] = *synced[commit.log];
      if (writers_[commit.log]->lacks()) stored.synced[i] = refusal_of(model_.logs[commit.log].name);
    }
  }
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
