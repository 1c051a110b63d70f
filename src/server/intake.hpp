// Checks a published block before the server uses any of its values, and turns its header into a dataset view.
// Used by: the server's dispatch thread, and recovery; the header lies in memory that a client may have damaged.
// Before it: a write event. After it: the ledger.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "server/ledger.hpp"

namespace damaris::server {

// Plain-C descriptions of all variables, as plugins see them. Owns the strings it points to through the model.
class VariableInfos {
 public:
  explicit VariableInfos(const model::Model& model);
  const std::vector<dc_variable_info_t>& all() const noexcept { return infos_; }
  // The same with reduce-on-full in place of reduce, where a variable has one.
  const std::vector<dc_variable_info_t>& on_full() const noexcept { return on_full_; }

 private:
  std::vector<std::vector<dc_field_t>> fields_;  // by compound
  std::vector<dc_variable_info_t> infos_, on_full_;
};

struct Intake {
  std::string fault;          // "" when the block is sound
  dc_dataset_t dataset = {};  // of one that is not, the variable where its header still names one, else nullptr
  HeldBlock block;
};

// What a client asked for: a block to be filled, and where the answer goes.
struct ReadRequest {
  std::string fault;  // "" when the block is sound
  bool last_step = false;
  dc_read_t read = {};  // of a question for the last step only the variable, which may be NULL
  HeldBlock block;
};

// `span` is the server's own copy of where a lane and its arena lie; `source` the id of the client that owns the lane.
// A sound result has copies of everything but the data themselves.
Intake check_block(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& event,
                   const VariableInfos& infos);

// The same for a record of a dead server's spill file.
Intake check_spilled(const shm::BlockHeader& header, const SpilledBlock& place, const VariableInfos& infos);

// The same for a block that is to be filled: of an event read or last_step.
ReadRequest check_request(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& event,
                          const VariableInfos& infos);

}  // namespace damaris::server
