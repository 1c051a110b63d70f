#include "losses.hpp"

#include <algorithm>
#include <utility>

#include "core/base/json.hpp"

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

}  // namespace damaris::manifest
