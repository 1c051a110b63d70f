// What the writer records for servers that died before they, or server 0, could. The rest of it is in writer.cpp.
#include <algorithm>

#include "unrecorded.hpp"
#include "writer.hpp"

namespace damaris::manifest {

// The steps that servers of the manifest's last run have stored and the manifest lacks.
std::vector<StepEntry> ManifestWriter::unrecorded_of(const std::string& regions, int servers) const {
  const std::vector<UnrecordedSteps> kept = UnrecordedSteps::find_all(names_, regions, servers);
  std::vector<StepEntry> missing;
  const RecordedSteps recorded =
      kept.empty() ? RecordedSteps{} : steps_of_last_run(names_.of_run(".jsonl"));  // read it only if needed: it may be long
  for (const UnrecordedSteps& one : kept)
    for (StepEntry& step : one.missing_in(recorded)) missing.push_back(std::move(step));
  return missing;
}

std::vector<ServerEntry> ManifestWriter::unrecorded_ends_of(const std::string& regions, int servers) const {
  std::vector<ServerEntry> ends;
  for (const UnrecordedSteps& one : UnrecordedSteps::find_all(names_, regions, servers))
    if (const auto end = one.end()) ends.push_back(*end);
  return ends;
}

void ManifestWriter::remove_unrecorded(const std::string& regions, int servers) const {
  for (const UnrecordedSteps& one : UnrecordedSteps::find_all(names_, regions, servers)) one.remove();
}

// A line of such a step may have died with the server, which had kept it until the file system would take it; an older one may be of an
// earlier life of the server in this run. Of a range, the steps that lines name are known to exist.
void ManifestWriter::record_given_up(const GivenUpSteps& given_up) {
  if (given_up.steps.empty() && !given_up.among) return;
  const Reporter self = {entry_host(), host_.server_index};
  const RecordedSteps recorded = steps_of_last_run(names_.of_run(".jsonl"), run_.regions);
  std::vector<std::int64_t> lost = given_up.steps;
  for (const auto& [number, reporters] : recorded.reporters)
    if (given_up.among && number >= given_up.among->first && number <= given_up.among->second) lost.push_back(number);
  lost.erase(std::remove_if(lost.begin(), lost.end(), [&](std::int64_t number) { return recorded.by(self, number); }), lost.end());
  std::vector<Json> lines;
  StepSpan steps;
  for (const std::int64_t number : lost) {
    StepEntry step;
    step.step = number;
    step.servers = {host_.server_index};
    step.reporters = {self};
    step.complete = false;
    step.failures = {"server " + std::to_string(host_.server_index) +
                     " gave the step up, and was killed before it could record why"};
    lines.push_back(to_json(step));
    steps.add(number);
  }
  if (!lines.empty()) {
    append(lines);
    warn(steps.text() + ", given up by the dead server: recorded as lost now");
  }
  for (const std::int64_t number : lost) host_.partial(host_.self, number);
  if (!given_up.among) return;
  warn("all steps with data from " + std::to_string(given_up.among->first) + " to " + std::to_string(given_up.among->second) +
       " had been given up by the dead server, more than it could list: those that no other server has recorded are not in the "
       "manifest");
}

// Records the steps that dead servers stored, after the server that should have recorded them died too. Includes those of all
// servers, because the regions of others may be lost with their nodes. Two concurrent recoveries may both add a line; readers merge
// them.
void ManifestWriter::record_recovered_steps(const GivenUpSteps& given_up) {
  for (const StepEntry& step : unrecorded_of(run_.regions, host_.server_count)) {
    append(to_json(step));
    log(2, "step " + std::to_string(step.step) + " was stored before, and is recorded now");
  }
  record_given_up(given_up);
  for (const ServerEntry& entry : unrecorded_ends_of(run_.regions, host_.server_count)) append(to_json(entry));
  remove_unrecorded(run_.regions, host_.server_count);
}

// At the end: all other servers have reported everything, or died before.
void ManifestWriter::record_steps_of_dead_servers() {
  bool all_finished = true;
  for (int server = 0; server < host_.server_count; ++server) {
    if (collector_.is_finished(server)) continue;
    all_finished = false;
    if (server != host_.server_index && file_ != nullptr) file_->keep_run();  // it may have left data
  }
  if (all_finished) return;
  for (StepEntry& step : unrecorded_of(run_.regions, host_.server_count)) {
    log(2, "step " + std::to_string(step.step) + " was stored by a server that died, and is recorded now");
    lines_.push_back(std::move(step));
  }
}

// For a run that continues a killed one: the unrecorded steps of that run count as recorded by it.
std::vector<Json> ManifestWriter::lines_of_earlier(const Outline& earlier) const {
  std::vector<Json> lines;
  for (const StepEntry& step : unrecorded_of(earlier.regions, earlier.servers)) {
    lines.push_back(to_json(step));
    log(2, "step " + std::to_string(step.step) + " was stored by the previous run, and is recorded now");
  }
  for (const ServerEntry& entry : unrecorded_ends_of(earlier.regions, earlier.servers)) lines.push_back(to_json(entry));
  return lines;
}

}  // namespace damaris::manifest
