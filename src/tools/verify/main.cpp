// damaris-verify: checks the files of a run against its manifest and names what is damaged.
// Used by: users and job scripts, during or after a run.
// Before it: the manifest and the files. After it: text or JSON on standard output, progress on a terminal's standard error.
#include <damaris/version.h>
#include <unistd.h>
#include <damaris/error.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/shm/dead_regions.hpp"
#include "plugins/hdf5/restart/verify_values.hpp"
#include "tools/command_line.hpp"
#include "tools/verify/logs.hpp"
#include "tools/verify/open_files.hpp"

namespace {

using namespace damaris;
using manifest::Finding;
using manifest::Verification;

struct Options {
  std::string run;
  bool quick = false;
  bool json = false;
  bool views = false;
};

std::string place(const manifest::Finding& finding) {
  if (finding.step < 0) return finding.file.empty() ? "the manifest" : finding.file;
  std::string text = format("step {}", finding.step);
  if (!finding.file.empty()) text += ": " + finding.file;
  if (!finding.dataset.empty()) text += ": /" + finding.dataset;
  return text;
}

// Findings besides the files and their record.
struct Surroundings {
  std::vector<shm::FoundRegion> regions;  // of dead servers of its runs, on this node, with data that were never stored
  std::vector<shm::UnreadRegion> unread;  // also of its runs, possibly with data
  std::vector<std::string> views;         // messages about views that cannot be read as a whole
  tools::Logs logs;
};

Surroundings inspect_surroundings(const manifest::Verification& found) {
  Surroundings surroundings;
  try {
    for (shm::FoundRegion& region : shm::find_regions_of_runs(found.regions, &surroundings.unread))
      if (!region.alive && region.holds_data()) surroundings.regions.push_back(std::move(region));
  } catch (const Error& error) {  // still report the files
    surroundings.unread.push_back({"/dev/shm", error.sentence()});
  }
  return surroundings;
}

std::string unstored(const shm::FoundRegion& region) {
  if (region.unreleased_blocks > 0)
    return format("{}: a dead server of this run left data in it; 'damaris recover {}' stores them", region.name, region.name);
  return format("{}: only this region of a dead server records that {}; 'damaris recover {}' records it", region.name,
                shm::loss_text(*region.lost), region.name);
}

// Names come from the manifest and from folders, which other users may have written.
std::string line(const char* kind, const std::string& text) { return format("{:8} {}\n", kind, without_controls(text)); }

std::string outcome(const manifest::Verification& found) {
  const std::string unread = found.unread.empty() ? "" : format("{} could not be looked at", found.unread.size());
  const char* const sound = found.partial.empty() ? "all as recorded" : "the files are as recorded";
  if (found.damaged.empty()) return unread.empty() ? sound : unread;
  return format("{} damaged{}", found.damaged.size(), unread.empty() ? "" : ", " + unread);
}

std::string verdict(const std::string& basename, const manifest::Verification& found) {
  std::set<std::int64_t> steps;  // each may have several reasons
  for (const manifest::Finding& one : found.partial)
    if (one.file.empty()) steps.insert(one.step);
  return format("{}: {} steps{}, {} files, {} datasets, {}: {}\n", without_controls(basename), found.steps,
                steps.empty() ? "" : format(", {} of them partial", steps.size()), found.files, found.datasets,
                size_text(found.bytes), outcome(found));
}

// What of it all is not as it should be at the end of a run.
bool is_whole(const manifest::Verification& found, const Surroundings& surroundings) {
  const bool unknown =
      std::any_of(found.not_recorded.begin(), found.not_recorded.end(), [](const std::string& name) { return name[0] != '.'; });
  return found.damaged.empty() && found.unread.empty() && found.partial.empty() && !unknown && surroundings.logs.damaged.empty() &&
         surroundings.logs.unended.empty() && surroundings.regions.empty() && surroundings.unread.empty() &&
         surroundings.views.empty();
}

enum class State { complete = 0, incomplete = 1, running = 3 };  // also the exit status

// While a run goes on, steps that not all servers have stored yet are partial.
State state_of(const manifest::Verification& found, const Surroundings& surroundings) {
  const bool is_sound = found.damaged.empty() && found.unread.empty() && surroundings.logs.damaged.empty() &&
                        surroundings.regions.empty() && surroundings.unread.empty();
  if (!found.has_ended) return found.holder == manifest::Holder::alive && is_sound ? State::running : State::incomplete;
  return is_whole(found, surroundings) ? State::complete : State::incomplete;
}

std::string state_line(const manifest::Verification& found, State state) {
  std::string text = format("{} step{}", found.steps, found.steps == 1 ? "" : "s");
  if (found.first_step >= 0)
    text += found.first_step == found.last_step ? format(", {}", found.first_step)
                                                : format(", {} to {}", found.first_step, found.last_step);
  if (state == State::complete) return "COMPLETE: " + text + "\n";
  if (state == State::running) return "STILL RUNNING: " + text + " so far\n";
  if (found.has_ended) return "INCOMPLETE: " + text + "; see above\n";
  const char* const more = found.holder == manifest::Holder::alive ? "; it goes on"
                           : found.holder == manifest::Holder::unknown
                               ? "; whether it goes on cannot be told, as the locks of its logs cannot be looked at"
                               : "";
  return "INCOMPLETE: " + text + "; " + found.why_not_ended + more + "\n";
}

std::string logs_report(const tools::Logs& logs, bool run_has_ended) {
  std::string text;
  for (const std::string& damage : logs.damaged) text += line("damaged", damage);
  for (const std::string& hole : logs.holes) text += line("note", hole);
  for (const std::string& index : logs.unended)
    if (run_has_ended)
      text += line("partial", index + ": its server did not come to its end; 'damaris recover' completes what it left");
  return text;
}

// Of a run that has logs only, which no manifest describes.
int verify_logs(const Options& options) {
  const tools::Logs logs = tools::inspect_logs(options.run, options.quick);
  const bool whole = logs.damaged.empty() && logs.unended.empty();
  if (options.json)
    std::printf("%s\n", text_of({{"state", whole ? "complete" : "incomplete"}, {"logs", tools::json_of(logs)}}, 2).c_str());
  else
    std::printf("%s%s\n%s: %s\n", logs_report(logs, true).c_str(), tools::summary(logs).c_str(), whole ? "COMPLETE" : "INCOMPLETE",
                whole ? "its logs" : "see above");
  return whole ? 0 : 1;
}

std::string text_report(const std::string& basename, const manifest::Verification& found, const Surroundings& surroundings) {
  std::string text;
  for (const manifest::Finding& one : found.damaged) text += line("damaged", place(one) + ": " + one.what);
  for (const manifest::Finding& one : found.unread) text += line("unread", place(one) + ": " + one.what);
  for (const manifest::Finding& one : found.partial) text += line("partial", place(one) + ": " + one.what);
  for (const std::string& name : found.not_recorded) text += line("unknown", name + ": it is not recorded in the manifest");
  for (const std::string& name : found.replaced)
    text += line("replaced", name + ": a later run of the manifest has taken its step's place");
  for (const std::string& view : surroundings.views) text += line("files", view);
  text += logs_report(surroundings.logs, found.has_ended);
  for (const shm::FoundRegion& region : surroundings.regions) text += line("unstored", unstored(region));
  for (const shm::UnreadRegion& region : surroundings.unread) text += line("unread", region.why);
  if (found.views_follow)
    text += line("note",
                 "views follow: steps were recorded after the views of the whole run, which a server writes while it has "
                 "time, and at the end of the run");
  if (surroundings.logs.number > 0) text += tools::summary(surroundings.logs) + "\n";
  return text + verdict(basename, found) + state_line(found, state_of(found, surroundings));
}

Json json_of(const std::vector<manifest::Finding>& findings) {
  Json list = Json::array();
  for (const manifest::Finding& one : findings)
    list.push_back({{"step", one.step}, {"file", one.file}, {"dataset", one.dataset}, {"what", one.what}});
  return list;
}

Json names_of(const std::vector<shm::FoundRegion>& regions) {
  Json list = Json::array();
  for (const shm::FoundRegion& region : regions) list.push_back(region.name);
  return list;
}

Json sentences_of(const std::vector<shm::UnreadRegion>& regions) {
  Json list = Json::array();
  for (const shm::UnreadRegion& region : regions) list.push_back(region.why);
  return list;
}

std::string json_report(const std::string& basename, const manifest::Verification& found, const Surroundings& surroundings) {
  const State state = state_of(found, surroundings);
  return text_of({{"run", basename},
                  {"state", state == State::complete  ? "complete"
                            : state == State::running ? "running"
                                                      : "incomplete"},
                  {"steps", found.steps},
                  {"files", found.files},
                  {"datasets", found.datasets},
                  {"bytes", found.bytes},
                  {"views_follow", found.views_follow},
                  {"damaged", json_of(found.damaged)},
                  {"unread", json_of(found.unread)},
                  {"partial", json_of(found.partial)},
                  {"not_recorded", found.not_recorded},
                  {"replaced", found.replaced},
                  {"too_many_files", surroundings.views},
                  {"logs", tools::json_of(surroundings.logs)},
                  {"unstored", names_of(surroundings.regions)},
                  {"unread_regions", sentences_of(surroundings.unread)}},
                 2) +
         "\n";
}

// A progress line on the terminal, updated at every percent.
class Progress {
 public:
  ~Progress() {
    if (shown_ >= 0) std::fputs("\r\033[K", stderr);
  }
  void show(std::uint64_t done, std::uint64_t all) {
    const int percent = all == 0 ? 100 : static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all));
    if (!terminal_ || percent == shown_) return;
    shown_ = percent;
    std::fprintf(stderr, "\r%3d %% of %s", percent, size_text(all).c_str());
    std::fflush(stderr);
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  int shown_ = -1;
};

int run(const Options& options) {
  std::string basename;
  try {
    basename = manifest::find_run(options.run);
  } catch (const Error&) {
    if (tools::has_logs(options.run)) return verify_logs(options);
    throw;
  }
  manifest::Verification found;
  {
    Progress progress;
    found = hdf5::verify(basename, {!options.quick, {}, [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); }});
  }
  Surroundings surroundings = inspect_surroundings(found);
  surroundings.logs = tools::inspect_logs(basename, options.quick);
  if (options.views) surroundings.views = tools::too_many_files(found.views, tools::open_files());
  std::fputs((options.json ? json_report(basename, found, surroundings) : text_report(basename, found, surroundings)).c_str(),
             stdout);
  return static_cast<int>(state_of(found, surroundings));
}

void describe(tools::CommandLine& command, Options& options) {
  command.add_option("RUN", options.run, "The basename of <hdf5>, one of the run's files, or their folder")
      .required()
      .type_name("");
  command.add_flag("--quick", options.quick, "Check the bytes of the files only, not each dataset's values");
  command.add_flag("--views", options.views, "Count the files that a read of each view opens against the limit of open files");
  command.add_flag("--json", options.json, "Print JSON");
  command.add_version("damaris " DAMARIS_VERSION);
  command.footer(
      "What no server came to record, as when it was killed, it finds only in the shared memory\nof this node.\n\n"
      "The last line says whether the run has ended and all is there. Exit status: 0 COMPLETE,\n1 INCOMPLETE, damaged or not "
      "readable, 2 wrong usage, 3 STILL RUNNING.\n");
}

}  // namespace

int main(int argc, char** argv) {
  hdf5::close_nothing_at_exit();
  Options options;
  tools::CommandLine command("Checks the files of a run against its manifest: their bytes, and the values of\nevery dataset.",
                             "damaris verify");
  describe(command, options);
  return command.run(argc, argv, [&] { return run(options); });
}
