// The messages between the writers of connected servers, and what comes of them. The rest of the writer is in writer.cpp.
#include <damaris/error.hpp>

#include <limits>
#include <string>
#include <utility>

#include "core/base/json.hpp"
#include "writer.hpp"

namespace damaris::manifest {

bool ManifestWriter::send_to_keeper(const std::string& text, const std::string& of) const {
  if (host_.send(host_.self, 0, text.data(), text.size()) == DC_OK) return true;
  warn("server 0, which keeps the manifest, cannot be sent the message " + of);
  return false;
}

void ManifestWriter::send_to_others(const Json& message) const {
  if (!connected_) return;
  const std::string text = text_of(message);
  for (int other = 1; other < host_.server_count; ++other) host_.send(host_.self, other, text.data(), text.size());
}

// The line of a recovery describes the files itself: shards belong to the servers of the run.
void ManifestWriter::collect_whole(StepEntry&& record, Instant since) {
  ServerReport report;
  report.step = std::move(record);
  collector_.add(connected_ ? host_.server_index : 0, std::move(report));
  due_since_ = since;
}

void ManifestWriter::passed(std::int64_t step) {
  if (keeps_manifest()) {
    if (!connected_) return;
    collector_.pass(host_.server_index, step, losses_of(host_));
    due_since_ = Clock::now();
    return void(write());
  }
  if (step == std::numeric_limits<std::int64_t>::max())
    add_unrecorded(to_json(ServerEntry{ServerEntry::What::ended, host_.server_index, "", losses_of(host_)}));
  Json passed = to_json(losses_of(host_));
  passed["passed"] = step;
  send_to_keeper(text_of(passed), "that there is nothing more up to step " + std::to_string(step));
}

void ManifestWriter::receive(int from, const std::string& message) {
  if (is_report(message)) {
    collector_.add(from, report_from(from, message));
    due_since_ = Clock::now();
    return void(write());
  }
  const Json json = Json::parse(message);
  if (json.contains("replaced")) return own_files_.remove_earlier();
  if (json.contains("misses"))
    throw Error(DC_E_IO, "the manifest, which server 0 keeps, lacks " + json.at("misses").get<std::string>());
  if (json.contains("prefix")) return void(prefixes_.insert(json.at("prefix").get<std::string>()));
  collector_.pass(from, json.at("passed").get<std::int64_t>(), losses_from(json));
  due_since_ = Clock::now();
  write();
}

}  // namespace damaris::manifest
