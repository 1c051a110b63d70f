#include "server_entry.hpp"
#include "core/base/json.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <utility>

namespace damaris::manifest {

void Losses::add_to(StepEntry& record) const {
  const std::uint64_t before = record.missing.size() + record.never_attached;
  for (const auto& [client, last] : last_steps)
    if (last < record.step) record.missing.push_back(client);
  std::sort(record.missing.begin(), record.missing.end());
  record.missing.erase(std::unique(record.missing.begin(), record.missing.end()), record.missing.end());
  record.never_attached += never_attached;
  if (record.missing.size() + record.never_attached > before) record.complete = false;
}

Losses losses_of(const dc_host_t& host) {
  Losses losses;
  for (std::size_t i = 0; i < host.lost_count; ++i) losses.last_steps[host.lost[i].client] = host.lost[i].last_step;
  losses.never_attached = host.never_attached;
  return losses;
}

Json to_json(const Losses& losses) {
  Json json = Json::object();
  for (const auto& [client, last] : losses.last_steps) json["lost"].push_back({client, last});
  if (losses.never_attached > 0) json["never_attached"] = losses.never_attached;
  return json;
}

Losses losses_from(const Json& json) {
  Losses losses;
  if (const auto lost = json.find("lost"); lost != json.end())
    for (const Json& one : *lost) {
      std::int32_t client = 0;
      read_value(one.at(0), client);
      read_value(one.at(1), losses.last_steps[client]);
    }
  if (const auto count = json.find("never_attached"); count != json.end()) read_value(*count, losses.never_attached);
  return losses;
}

Json to_json(const ServerEntry& entry) {
  Json json = {{entry.what == ServerEntry::What::joined ? "joined" : "ended", entry.server}, {"host", entry.host}};
  if (entry.all) json["all"] = true;
  if (entry.recovered) json["recovered"] = true;
  if (!entry.regions.empty()) json["regions"] = entry.regions;
  json.update(to_json(entry.losses));
  return json;
}

std::optional<ServerEntry> server_entry_from_json(const Json& json) {
  const bool ended = json.is_object() && json.contains("ended");
  if (!ended && !(json.is_object() && json.contains("joined"))) return std::nullopt;
  try {
    ServerEntry entry;
    entry.what = ended ? ServerEntry::What::ended : ServerEntry::What::joined;
    read_value(json.at(ended ? "ended" : "joined"), entry.server);
    entry.host = json.at("host").get<std::string>();
    entry.losses = losses_from(json);
    entry.all = json.value("all", false);
    entry.recovered = json.value("recovered", false);
    entry.regions = json.value("regions", "");
    return entry;
  } catch (const Json::exception& error) {
    throw Error(DC_E_IO, std::string("the line of a server is damaged: ") + error.what());
  }
}

}  // namespace damaris::manifest
