// The server's side of the storage, made by hand: facts of a run and steps of blocks that lie in shared memory, as in a region.
// Used by: the storage benchmarks, one thread.
// Before it: the benchmark's sizes. After it: the parts of the hdf5 plugin.
#pragma once

#include <damaris/plugin.h>

#include <deque>
#include <string>
#include <vector>

#include "memory.hpp"

namespace damaris::bench {

// Variables of one dimension that all clients write, with or without a position; each client has one block of each.
struct RunShape {
  int variables = 1;
  int clients = 1;
  std::uint64_t block_bytes = 0;  // a multiple of 4: float32
  bool positions = true;
};

class MadeRun {
 public:
  MadeRun(const RunShape& shape, const std::string& basename);
  MadeRun(const MadeRun&) = delete;
  MadeRun& operator=(const MadeRun&) = delete;

  dc_host_t& host() { return host_; }
  // All blocks, complete; their values differ from those of the last call. Valid until the next one.
  const dc_step_t& step(std::int64_t number);
  std::uint64_t bytes() const { return shape_.block_bytes * datasets_.size(); }
  const std::vector<dc_dataset_t>& datasets() const { return datasets_; }
  void set(const std::string& key, const std::string& value);
  const std::string& failure() const { return failure_; }

 private:
  void add_variable(int index);
  void add_blocks();

  RunShape shape_;
  std::string failure_;
  std::deque<std::string> texts_;  // stay where they are
  std::vector<dc_setting_t> settings_;
  std::vector<dc_variable_info_t> variables_;
  std::vector<std::int32_t> clients_;
  Circle memory_;
  std::vector<dc_dataset_t> datasets_;
  dc_host_t host_ = {};
  dc_step_t step_ = {};
};

}  // namespace damaris::bench
