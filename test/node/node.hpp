// A whole node in one process: a private region, a server on a thread of its own, clients as objects for the test's threads.
// Used by: node tests; what happened is read from the recorder plugin's log after stop().
#pragma once

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/client.hpp"
#include "client/slot.hpp"
#include "core/model/json.hpp"
#include "server/make_region.hpp"
#include "server/server.hpp"
#include "support/errors.hpp"
#include "support/temp_folder.hpp"

namespace damaris::test {

inline constexpr std::int32_t kFour[4] = {1, 2, 3, 4};  // values of `small`

// A model with variables small (4 int32), vec (n float64), tile (2x3 float32 with position), off; event actions through `record`.
inline model::Model node_model() {
  model::Model model;
  model.simulation = "node";
  model.file = "node.xml";
  model.architecture.buffer_bytes = 1 << 20;
  model.architecture.buffer_timeout_ms = 300;
  model.architecture.global_timeout_ms = 300;
  model.architecture.finalize_timeout_ms = 5'000;
  const auto parameter = [&](const std::string& name, std::int64_t value, bool constant) {
    model::Parameter parameter;
    parameter.name = name;
    parameter.value = value;
    parameter.expression = model::Expression::constant(value);
    parameter.constant = constant;
    model.parameters.push_back(parameter);
  };
  parameter("n", 100, false);
  parameter("fixed", 7, true);
  const auto layout = [&](const std::string& name, dc_type type, std::vector<std::string> dimensions) {
    model::Layout layout;
    layout.name = name;
    layout.type = type;
    layout.element_bytes = model::type_bytes(type);
    for (const std::string& text : dimensions) layout.dimensions.push_back(model::Expression::parse(text));
    model.layouts.push_back(layout);
  };
  layout("four", DC_INT32, {"4"});
  layout("vector", DC_FLOAT64, {"n"});
  layout("tile", DC_FLOAT32, {"2", "3"});
  model.layouts[2].global = {model::Expression::parse("4"), model::Expression::parse("3")};
  const auto variable = [&](const std::string& name, std::size_t index) {
    model::Variable variable;
    variable.id = static_cast<std::uint32_t>(model.variables.size());
    variable.name = variable.path = name;
    variable.layout = index;
    model.variables.push_back(variable);
  };
  variable("small", 0);
  variable("vec", 1);
  variable("tile", 2);
  variable("off", 0);
  model.variables[3].enabled = false;
  return model;
}

inline void add_event(model::Model& model, const std::string& name, std::vector<dc_scope> scopes,
                      const std::string& function = "record") {
  model::Event event;
  event.id = static_cast<std::uint32_t>(model.events.size());
  event.name = name;
  for (const dc_scope scope : scopes) {
    model::Action action;
    action.function = function;
    action.library = "damaris_test_recorder.so";
    action.scope = scope;
    event.actions.push_back(action);
  }
  model.events.push_back(event);
}

inline void add_recorder(model::Model& model, bool storage = false,
                         std::vector<std::pair<std::string, std::string>> settings = {}) {
  model::Plugin plugin;
  plugin.name = "recorder";
  plugin.library = "damaris_test_recorder.so";
  plugin.storage = storage;
  plugin.settings = std::move(settings);
  model.plugins.push_back(plugin);
}

class Node {
 public:
  explicit Node(const model::Model& given, int clients = 2, const std::string& region_name = "")
      : model_(std::make_shared<model::Model>(given)) {
    ::setenv("DAMARIS_TEST_LOG", folder_.file("log").c_str(), 1);
    region_ = server::make_region(*model_, "<simulation/>", clients, {region_name, "host", 0, false});
    std::vector<std::int32_t> ids;
    for (int id = 0; id < clients; ++id) ids.push_back(id);
    server_ = std::make_unique<server::Server>(model_, region_, std::make_unique<server::SingleCoordinator>(), ids);
    for (int id = 0; id < clients; ++id) {
      client::try_claim(*region_, static_cast<std::uint32_t>(id), id);
      clients_.push_back(std::make_unique<client::Client>(region_, model_, static_cast<std::uint32_t>(id), id));
    }
  }
  ~Node() { stop(); }

  // Serves on a thread from now on. Before, a test may call server().poll() itself.
  void start() {
    thread_ = std::thread([this] { result_ = server_->run(); });
  }
  // Finalizes the clients that have not, waits for the server's end.
  Status stop() {
    std::vector<std::thread> ends;
    for (auto& client : clients_)
      if (client != nullptr)
        ends.emplace_back([&client] {
          try {
            client->finalize();
          } catch (const Error&) {  // the case has looked at it already, or does not care
          }
        });
    if (!thread_.joinable() && server_ != nullptr) start();
    for (std::thread& end : ends) end.join();
    if (thread_.joinable()) thread_.join();
    clients_.clear();
    return result_;
  }

  client::Client& client(int id) { return *clients_[static_cast<std::size_t>(id)]; }
  void drop_client(int id) { clients_[static_cast<std::size_t>(id)].reset(); }
  server::Server& server() { return *server_; }
  shm::Region& region() { return *region_; }
  std::shared_ptr<shm::Region> shared_region() { return region_; }
  client::Variable& variable(int id, const std::string& name) { return client(id).shapes().find(name); }
  const TempFolder& folder() const { return folder_; }

  // The recorder's lines so far that contain `part`.
  std::vector<std::string> lines(const std::string& part = "") const {
    std::ifstream log(folder_.file("log.s0"));
    std::vector<std::string> found;
    for (std::string line; std::getline(log, line);)
      if (line.find(part) != std::string::npos) found.push_back(line);
    return found;
  }

 private:
  TempFolder folder_;
  std::shared_ptr<const model::Model> model_;
  std::shared_ptr<shm::Region> region_;
  std::unique_ptr<server::Server> server_;
  std::vector<std::unique_ptr<client::Client>> clients_;
  std::thread thread_;
  Status result_;
};

}  // namespace damaris::test
