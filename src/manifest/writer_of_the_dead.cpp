// What the writer records for servers that died before they, or server 0, could, and what it notes for the case that this one dies. The rest of it is in writer.cpp.
#include <algorithm>

#include "core/base/failure.hpp"
#include "core/base/json.hpp"
#include "unrecorded.hpp"
#include "writer.hpp"

namespace damaris::manifest {

// Of all servers, because the regions of others may be lost with their nodes; of independent ones only this, as others may go on.
std::vector<UnrecordedSteps> ManifestWriter::unrecorded_lists() const {
  std::vector<UnrecordedSteps> lists = UnrecordedSteps::find_all(names_, run_.regions, host_.server_count);
  if (apart() && unrecorded_.exists()) lists.push_back(unrecorded_);
  return lists;
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
  // A single server under MPI had named no host.
  const auto has_line = [&](std::int64_t number) {
    return recorded.by(self, number) || recorded.by({"", host_.server_index}, number);
  };
  lost.erase(std::remove_if(lost.begin(), lost.end(), has_line), lost.end());
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

// Records the steps that dead servers stored, after the server that should have recorded them died too, or the manifest had refused them. Two
// concurrent recoveries may both add a line; readers merge them.
void ManifestWriter::record_recovered_steps(const GivenUpSteps& given_up) {
  const std::vector<UnrecordedSteps> lists = unrecorded_lists();
  for (const StepEntry& step : missing_in(names_.of_run(".jsonl"), lists)) {
    append(to_json(step));
    log(2, "step " + std::to_string(step.step) + " was stored before, and is recorded now");
  }
  record_given_up(given_up);
  for (const UnrecordedSteps& list : lists)
    if (const auto end = list.end()) append(to_json(*end));
  for (const UnrecordedSteps& list : lists) list.remove();
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
  for (StepEntry& step : missing_in(names_.of_run(".jsonl"), unrecorded_lists())) {
    log(2, "step " + std::to_string(step.step) + " was stored by a server that died, and is recorded now");
    lines_.push_back({std::move(step), {}});
  }
}

// For a run that continues another one: what that could not record counts as recorded by it.
std::vector<Json> ManifestWriter::lines_of_earlier(const std::vector<UnrecordedSteps>& lists) const {
  std::vector<Json> lines;
  for (const StepEntry& step : missing_in(names_.of_run(".jsonl"), lists)) {
    lines.push_back(to_json(step));
    log(2, "step " + std::to_string(step.step) + " was stored by the previous run, and is recorded now");
  }
  for (const UnrecordedSteps& list : lists)
    if (const auto end = list.end()) lines.push_back(to_json(*end));
  return lines;
}

// Returns whether a recovery finds what the manifest refuses. In place there is none; and what a recovery stores stays in the region until it
// is recorded.
bool ManifestWriter::note_lines() {
  if (run_.regions.empty() || existing_ == Existing::recover) return true;
  try {
    while (!notes_all() && noted_ < lines_.size()) {
      const Json line = to_json(whole(lines_[noted_]));
      ++noted_;  // if it cannot be added now, it waits there
      unrecorded_.add(line);
    }
    unrecorded_.add_waiting();
    return true;
  } catch (const Failure& failure) {
    note_refusal_ = failure.what();
    return false;
  }
}

// The files of a step that neither the manifest nor the list names would be unknown after a kill, and its blocks gone. So the step is kept, as
// long as it takes.
bool ManifestWriter::must_insist() {
  return !note_lines() && std::any_of(lines_.begin(), lines_.end(), [](const DueStep& line) { return line.has_files(); });
}

}  // namespace damaris::manifest
