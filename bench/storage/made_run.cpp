#include "storage/made_run.hpp"

#include <cstdio>
#include <cstring>

namespace damaris::bench {

MadeRun::MadeRun(const RunShape& shape, const std::string& basename)
    : shape_(shape),
      memory_(Circle::shared_memory(shape.block_bytes * static_cast<std::uint64_t>(shape.variables) *
                                    static_cast<std::uint64_t>(shape.clients))) {
  set("basename", basename);
  for (int client = 0; client < shape.clients; ++client) clients_.push_back(client);
  variables_.reserve(static_cast<std::size_t>(shape.variables));
  for (int index = 0; index < shape.variables; ++index) add_variable(index);
  add_blocks();
  host_.abi = DC_PLUGIN_ABI;
  host_.size_bytes = sizeof host_;
  host_.self = this;
  host_.simulation = "bench";
  host_.job = "bench";
  host_.config_file = "bench.xml";
  host_.host_name = "bench";
  host_.server_count = 1;
  host_.client_count = shape.clients;
  host_.clients = clients_.data();
  host_.variable_count = variables_.size();
  host_.variables = variables_.data();
  host_.log = [](void*, int level, const char* text) {
    if (level == 0) std::fprintf(stderr, "%s\n", text);
  };
  host_.fail = [](void* self, const char* sentence) { static_cast<MadeRun*>(self)->failure_ = sentence; };
  host_.stored = [](void*, const char*, std::uint64_t, std::uint64_t) {};
  host_.send = [](void*, int, const void*, std::uint64_t) -> int { return DC_E_NO_MPI; };
}

void MadeRun::set(const std::string& key, const std::string& value) {
  const char* const name = texts_.emplace_back(key).c_str();
  settings_.push_back({name, texts_.emplace_back(value).c_str()});
  host_.setting_count = settings_.size();
  host_.settings = settings_.data();
}

void MadeRun::add_variable(int index) {
  dc_variable_info_t info = {};
  info.id = static_cast<std::uint32_t>(index);
  info.path = info.name = texts_.emplace_back("v" + std::to_string(index)).c_str();
  info.layout = "block";
  info.unit = "m";
  info.description = "";
  info.type = DC_FLOAT32;
  info.element_bytes = sizeof(float);
  info.type_name = "real";
  info.ndims = 1;
  info.reduce = "";
  variables_.push_back(info);
}

void MadeRun::add_blocks() {
  const auto extent = static_cast<std::int64_t>(shape_.block_bytes / sizeof(float));
  for (const dc_variable_info_t& variable : variables_)
    for (const std::int32_t client : clients_) {
      dc_dataset_t block = {};
      block.variable = &variable;
      block.source = client;
      block.extents[0] = extent;
      block.has_position = shape_.positions ? 1 : 0;
      block.position[0] = extent * client;
      block.bytes = shape_.block_bytes;
      block.data = memory_.next(shape_.block_bytes);
      datasets_.push_back(block);
    }
}

const dc_step_t& MadeRun::step(std::int64_t number) {
  for (dc_dataset_t& block : datasets_) {
    block.step = number;
    std::memcpy(const_cast<void*>(block.data), &number, sizeof(float));
  }
  step_.step = number;
  step_.complete = 1;
  step_.dataset_count = datasets_.size();
  step_.datasets = datasets_.data();
  step_.client_count = clients_.size();
  return step_;
}

}  // namespace damaris::bench
