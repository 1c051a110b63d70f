#include <sstream>

#include "core/base/json.hpp"
#include "core/model/json.hpp"
#include "tools/check/report.hpp"

namespace damaris::check {
namespace {

// The compiled model contains enumerators as numbers; users and scripts need their names.
void name_types(Json& list) {
  for (Json& item : list) item["type"] = model::type_name(item["type"].get<dc_type>());
}

void replace_enumerators(Json& model) {
  name_types(model["parameters"]);
  name_types(model["layouts"]);
  for (Json& compound : model["compounds"]) name_types(compound["fields"]);
  constexpr const char* kScopes[] = {"core", "node", "global"};
  for (Json& event : model["events"])
    for (Json& action : event["actions"]) action["scope"] = kScopes[action["scope"].get<std::size_t>()];
  constexpr const char* kStale[] = {"recover", "refuse", "discard"};
  constexpr const char* kPolicies[] = {"disable", "fail-step"};
  Json& architecture = model["architecture"];
  constexpr const char* kOnFull[] = {"block", "skip", "drop"};
  architecture["on_full"] = kOnFull[architecture["on_full"].get<std::size_t>()];
  for (Json& variable : model["variables"]) variable["on_full"] = kOnFull[variable["on_full"].get<std::size_t>()];
  architecture["stale"] = kStale[architecture["stale"].get<std::size_t>()];
  architecture["plugin_policy"] = kPolicies[architecture["plugin_policy"].get<std::size_t>()];
}

}  // namespace

std::string json_report(const model::Model& model, const Sizes& sizes, const std::vector<std::string>& warnings) {
  const std::string wrong = shortage(model, sizes);
  Json result = {{"file", model.file}, {"valid", wrong.empty()}, {"warnings", warnings}, {"needs_mpi", model::needs_mpi(model)}};
  if (!wrong.empty()) result["errors"] = Json::array({wrong});
  Json& figures = result["sizes"];
  figures = {{"known", sizes.known}, {"steps", sizes.steps}, {"clients", sizes.clients}};
  figures["lane_messages"] = sizes.lane_messages;
  if (sizes.known) {
    figures["step_bytes_per_client"] = sizes.step_bytes;
    figures["buffer_bytes_per_client"] = sizes.client_bytes;
    figures["buffer_bytes_configured"] = model.architecture.buffer_bytes;
    if (sizes.clients > 0) figures["buffer_bytes_needed"] = sizes.buffer_bytes;
  }
  result["model"] = Json::parse(model::to_json(model));
  result["model"]["architecture"]["lane_messages"] = sizes.lane_messages;
  replace_enumerators(result["model"]);
  return text_of(result, 2) + "\n";
}

std::string json_failure(const std::string& file, const std::string& errors) {
  Json list = Json::array();
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) list.push_back(line);
  return text_of({{"file", file}, {"valid", false}, {"errors", list}}, 2) + "\n";
}

}  // namespace damaris::check
