// Validates a published block before the server uses any of its values, and turns its header into a dataset view.
// Used by: the server's intake thread, and recovery; the header lies in memory that a client may have damaged.
// Before it: a write message. After it: the ledger.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "server/ledger.hpp"

namespace damaris::server {

// Plain-C descriptions of all variables, as plugins see them. The strings belong to the model, which must outlive this object.
class VariableInfos {
 public:
  explicit VariableInfos(const model::Model& model);
  const std::vector<dc_variable_info_t>& all() const noexcept { return infos_; }
  // The same, with reduce-on-full in place of reduce for variables that have it.
  const std::vector<dc_variable_info_t>& on_full() const noexcept { return on_full_; }

 private:
  std::vector<std::vector<dc_field_t>> fields_;  // by compound
  std::vector<dc_variable_info_t> infos_, on_full_;
};

struct Intake {
  std::string fault;          // "" if the block is valid
  dc_dataset_t dataset = {};  // of an invalid block only the variable counts, which its header may name, or nullptr
  HeldBlock block;
};

// A client's read request: the block to be filled.
struct ReadRequest {
  std::string fault;  // "" if the block is valid
  bool last_step = false;
  dc_read_t read = {};  // of a request for the last step: only the variable, which may be NULL
  HeldBlock block;
};

// Bytes that a client has appended to a log.
struct AppendedBlock {
  std::string fault;  // "" if the block is valid
  std::uint32_t log = 0;
  std::uint64_t offset = 0, bytes = 0;  // of and in the file of the log
  const std::byte* data = nullptr;
  HeldBlock block;
};

// `span`: the server's own copy of the location of a lane and its arena; `source`: the id of the client that owns the lane.
// A valid result contains copies of everything except the data.
Intake check_block(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& message,
                   const VariableInfos& infos);

// The same for a record in a dead server's spill file.
Intake check_spilled(const shm::BlockHeader& header, const SpilledBlock& place, const VariableInfos& infos);

// The same for bytes of a log, of which there are `logs`.
AppendedBlock check_append(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& message,
                           std::size_t logs);

// The same for a block to be filled: for the messages read, last_step and log_commit.
ReadRequest check_request(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& message,
                          const VariableInfos& infos);

}  // namespace damaris::server
