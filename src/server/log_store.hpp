// The logs on the side of the server that stores: one writer a log.
// Used by: the work side, on its thread.
// Before it: StoreLogs. After it: files beside those of the steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"
#include "logs/writer.hpp"
#include "server/handover.hpp"

namespace damaris::server {

class LogStore {
 public:
  // Opens the logs of the model, and tells the clients of `region` where each ends, and recovery what was there. Throws as logs::Writer.
  LogStore(const model::Model& model, shm::Region& region, const std::string& host, int server);

  // Writes the appends, then answers the commits.
  LogsStored store(StoreLogs& job);
  // Nothing more comes; `complete`: everything that came is stored. Returns the first failure.
  Status finish(bool complete);

 private:
  void write(std::size_t log, std::vector<LogAppend>& appends, LogsStored& stored);

  const model::Model& model_;
  std::vector<std::unique_ptr<logs::Writer>> writers_;  // by log
};

}  // namespace damaris::server
