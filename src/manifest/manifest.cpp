#include "manifest.hpp"

#include <damaris/error.hpp>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <future>

#include "core/base/failure.hpp"

namespace damaris::manifest {
namespace {

// Limits for what a forged manifest may have any number of.
constexpr std::size_t kMaxSentences = 100, kMaxNamed = 20;
constexpr std::size_t kBatch = 256, kLogsAtOnce = 256;  // records of a log, and logs, that are in memory before they are joined
constexpr std::size_t kMaxThreads = 16, kLogsOfThread = 16;

}  // namespace

struct Manifest::Source {
  explicit Source(LogReader&& log) : reader(std::move(log)) {}
  LogReader reader;
  Delivery delivery;
  std::vector<std::int64_t> undoubted;  // steps recorded since the last damage
};

struct Manifest::Stored {
  StepEntry step;  // joined, as its records say
  std::vector<std::pair<Source*, Place>> records;
  std::string doubt;       // the first damage after one of them
  bool is_flawed = false;  // a record marks it as incomplete without a reason
};

struct Manifest::Run {
  // All servers have to deliver each step: those of the run's records, or if they are independent, those that have a log.
  std::size_t servers() const { return entry && !entry->apart ? static_cast<std::size_t>(entry->servers) : sources.size(); }
  std::optional<std::int64_t> first_stored() const {
    for (const auto& [number, stored] : steps)
      if (stored.step.has_files()) return number;
    return std::nullopt;
  }
  bool has_ended() const {
    return entry && sources.size() >= servers() &&
           std::all_of(sources.begin(), sources.end(), [](const auto& one) { return one.second->delivery.has_ended_well(); });
  }
  bool replaces_all() const { return entry && entry->replaces_all; }
  template <class Each>
  void for_each_absent(const StepEntry& step, Each&& each) const;
  std::vector<std::string> why_partial(const Stored& stored) const;
  std::string unreported(const StepEntry& step) const;

  std::int64_t generation = 0;
  std::optional<RunEntry> entry;                                           // none: it is unreadable
  std::map<std::pair<std::string, int>, std::unique_ptr<Source>> sources;  // by host and index
  std::map<std::int64_t, Stored> steps;
  std::uint64_t records = 0;  // about steps
  bool is_damaged = false;    // a record of any kind
  std::map<std::string, View> views;
  std::uint64_t shown = 0;  // records that the newest view shows
};

// Visits each server with a log that has not recorded the step although it may have had data of it. `each` gets what one that has ended has
// lost, and nullptr for one that still has to record it.
template <class Each>
void Manifest::Run::for_each_absent(const StepEntry& step, Each&& each) const {
  if (step.reporters.size() >= std::max(servers(), sources.size())) return;
  for (const auto& [name, source] : sources) {
    const bool has_it = std::binary_search(step.reporters.begin(), step.reporters.end(), name);
    if (!has_it && !source->delivery.had_nothing(step.step)) each(name, source->delivery.losses_of(step.step));
  }
}

std::string Manifest::Run::unreported(const StepEntry& step) const {
  std::vector<std::string> names;
  std::size_t others = 0;
  const auto add = [&](const std::string& name) { names.size() < kMaxNamed ? names.push_back(name) : void(++others); };
  for_each_absent(step, [&](const auto& name, const Losses* losses) {
    if (losses == nullptr) add(name.first + "/" + std::to_string(name.second));
  });
  std::set<int> known;
  if (sources.size() < servers())
    for (const auto& [name, source] : sources) known.insert(name.second);
  if (!known.empty())
    for (int server = 0; server < static_cast<int>(servers()); ++server)
      if (known.count(server) == 0) add(std::to_string(server) + " (without a log)");
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return others == 0 ? text : text + " and " + std::to_string(others) + " others";
}

std::vector<std::string> Manifest::Run::why_partial(const Stored& stored) const {
  StepEntry judged;
  judged.step = stored.step.step;
  judged.missing = stored.step.missing;
  judged.never_attached = stored.step.never_attached;
  for_each_absent(stored.step, [&](const auto&, const Losses* losses) {
    if (losses != nullptr) losses->add_to(judged);
  });
  std::vector<std::string> all = flaws_of(stored.step, judged);
  if (!entry) all.push_back("the record of its run is unreadable, so the servers that had to deliver it are unknown");
  if (const std::string names = unreported(stored.step); !names.empty()) all.push_back("servers that did not report it: " + names);
  if (all.empty() && stored.is_flawed) all.push_back("its record marks it as incomplete");
  return all;
}

Manifest::Manifest(const std::string& basename, std::int64_t before, bool only_own) : before_(before), only_own_(only_own) {
  const std::filesystem::path path = std::filesystem::absolute(basename).lexically_normal();
  folder_ = path.parent_path().string();
  stem_ = path.filename().string();
}

bool Manifest::was_replaced() {
  bool replaced = false;
  for (auto& [generation, run] : runs_)
    for (auto& [name, source] : run->sources) replaced = source->reader.was_replaced() || replaced;
  return replaced;
}

void Manifest::add_new_logs() {
  for (LogName& name : find_logs(folder_, stem_, only_own_)) {
    if (name.generation >= before_) continue;
    std::shared_ptr<Run>& run = runs_[name.generation];
    if (!run) run = std::make_shared<Run>();
    run->generation = name.generation;
    std::unique_ptr<Source>& source = run->sources[{name.host, name.server}];
    if (source) continue;
    std::string path = folder_ + "/" + name.of(stem_);
    source = std::make_unique<Source>(LogReader(std::move(path), std::move(name)));
    source->reader.was_replaced();
  }
}

bool Manifest::read_on() try {
  if (was_replaced()) *this = Manifest(folder_ + "/" + stem_, before_, only_own_);
  add_new_logs();
  std::vector<std::pair<Run*, Source*>> logs;
  for (auto& [generation, run] : runs_)
    for (auto& [name, source] : run->sources) logs.emplace_back(run.get(), source.get());
  bool has_any = false, has_steps = false;
  for (std::size_t first = 0; first < logs.size(); first += kLogsAtOnce)
    for (bool has_more = true; has_more;) {
      std::vector<std::vector<LogRecord>> fresh(std::min(kLogsAtOnce, logs.size() - first));
      on_cores(fresh.size(), [&](std::size_t i) { fresh[i] = logs[first + i].second->reader.read_on(kBatch); });
      has_more = false;
      for (std::size_t i = 0; i < fresh.size(); ++i) {
        has_any = has_any || !fresh[i].empty();
        has_more = has_more || fresh[i].size() >= kBatch;
        for (LogRecord& record : fresh[i]) {
          has_steps = has_steps || std::holds_alternative<StepRecord>(record);
          take(*logs[first + i].first, *logs[first + i].second, std::move(record));
        }
      }
    }
  if (has_any) join_runs();
  return has_steps;
} catch (const Failure& failure) {
  throw Error(DC_E_IO, "the run recorded in " + folder_ + "/" + stem_ + ".g*.jsonl cannot be read: " + failure.what());
}

// On a server's own core alone, as the others compute.
template <class Each>
void Manifest::on_cores(std::size_t count, Each&& each) const {
  cpu_set_t cores;
  const bool is_alone = only_own_ || ::sched_getaffinity(0, sizeof cores, &cores) != 0;
  const std::size_t threads =
      is_alone ? 1 : std::min<std::size_t>({static_cast<std::size_t>(CPU_COUNT(&cores)), count / kLogsOfThread, kMaxThreads});
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) each(i);
  };
  std::vector<std::future<void>> others;
  while (others.size() + 1 < threads) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

// All logs of a run say the same of it.
void Manifest::take(Run& run, Source& source, LogRecord&& record) {
  if (auto* const entry = std::get_if<RunEntry>(&record)) {
    if (!entry->regions.empty()) regions_.insert(entry->regions);
    if (!run.entry) run.entry = std::move(*entry);
  } else if (auto* const step = std::get_if<StepRecord>(&record)) {
    take(run, source, std::move(*step));
  } else if (auto* const made = std::get_if<ViewRecord>(&record)) {
    take(run, std::move(*made));
  } else if (const auto* const end = std::get_if<EndRecord>(&record)) {
    source.delivery.note_end(end->losses, end->recovered);
  } else if (const auto* const damage = std::get_if<DamagedRecord>(&record)) {
    leave_out(run, source, damage->why);
  } else if (const auto* const back = std::get_if<BackRecord>(&record)) {
    if (!back->regions.empty()) regions_.insert(back->regions);
    source.delivery.interrupt();
  }
}

void Manifest::take(Run& run, Source& source, StepRecord&& record) {
  ++run.records;
  StepEntry& step = record.step;
  step.reporters = {{source.reader.name().host, source.reader.name().server}};
  source.delivery.note(step);
  source.undoubted.push_back(step.step);
  const bool is_flawed = !step.complete && flaws_of(step, step).empty();
  const auto [found, is_new] = run.steps.try_emplace(step.step);
  found->second.is_flawed = found->second.is_flawed || is_flawed;
  found->second.records.emplace_back(&source, record.place);
  if (is_new)
    found->second.step = std::move(step);
  else
    join(found->second.step, std::move(step));
}

void Manifest::take(Run& run, ViewRecord&& made) {
  View& view = run.views[made.view.name];
  if (made.shown < view.shown) return view.earlier.push_back(made.view.checksum);
  if (made.shown > view.shown)
    for (const ViewEntry& one : std::exchange(view.same, {})) view.earlier.push_back(one.checksum);
  view.shown = made.shown;
  run.shown = std::max(run.shown, made.shown);
  view.same.push_back(std::move(made.view));
}

// The damaged line may have contradicted any step that its log has recorded so far; what it has delivered since is unknown.
void Manifest::leave_out(Run& run, Source& source, const std::string& why) {
  run.is_damaged = true;
  source.delivery.interrupt();
  for (const std::int64_t step : std::exchange(source.undoubted, {}))
    if (std::string& doubt = run.steps.at(step).doubt; doubt.empty()) doubt = why;
  if (damaged_.size() == kMaxSentences) return void(++more_damaged_);
  damaged_.push_back(why);
}

void Manifest::join_runs() {
  steps_.clear();
  run_of_.clear();
  waiting_.clear();
  replaced_.clear();
  views_.clear();
  views_follow_ = false;
  for (const auto& [generation, run] : runs_) {
    const std::optional<std::int64_t> first = run->first_stored();
    const bool is_first = steps_.empty(), all = run->replaces_all();
    if (first) replace(all ? std::numeric_limits<std::int64_t>::min() : *first);
    for (const auto& [number, stored] : run->steps) {
      const bool counts = is_first || (first && (all || number >= *first));
      (counts ? run_of_ : waiting_)[number] = run.get();
      if (!counts) continue;
      waiting_.erase(number);
      StepEntry& step = steps_[number] = stored.step;
      step.complete = run->why_partial(stored).empty();
      if (run->entry) step.declared = run->entry->declared;
    }
    if (!run->views.empty() || (first && all)) views_ = run->views;
    if (!run->steps.empty()) views_follow_ = run->records > run->shown && !views_.empty();
  }
}

// Steps of earlier runs from `first` on belong to an abandoned course of the simulation.
void Manifest::replace(std::int64_t first) {
  for (auto later = run_of_.lower_bound(first); later != run_of_.end(); later = run_of_.erase(later)) {
    if (steps_.at(later->first).has_files()) replaced_.emplace_back(later->second, later->first);
    steps_.erase(later->first);
  }
  // What an earlier run without any file says of its steps is not about these data.
  for (auto one = waiting_.begin(); one != waiting_.end();)
    one = one->first >= first || !one->second->first_stored() ? waiting_.erase(one) : std::next(one);
}

const Manifest::Run* Manifest::run_of(std::int64_t step) const { return run_of_.at(step); }

const Manifest::Run* Manifest::last_run() const { return runs_.empty() ? nullptr : runs_.rbegin()->second.get(); }

const Manifest::Run* Manifest::last_with_steps() const {
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run)
    if (!run->second->steps.empty() || run->second->is_damaged) return run->second.get();
  return last_run();
}

std::string Manifest::damage_since(std::int64_t step) const { return run_of(step)->steps.at(step).doubt; }

std::vector<std::string> Manifest::cut_off() const {
  std::vector<std::string> paths;
  if (const Run* const run = last_with_steps())
    for (const auto& [name, source] : run->sources)
      if (source->reader.is_cut_off()) paths.push_back(source->reader.path());
  return paths;
}

StepEntry Manifest::with_files(std::int64_t number, const std::string& variable) const {
  const Stored& stored = run_of(number)->steps.at(number);
  StepEntry step = steps_.at(number);
  std::map<Source*, std::size_t> known;
  std::vector<std::pair<Source*, std::vector<Place>>> logs;  // of a server that came back, or was recovered, several places
  for (const auto& [source, place] : stored.records) {
    const auto [at, is_new] = known.try_emplace(source, logs.size());
    if (is_new) logs.emplace_back(source, std::vector<Place>());
    logs[at->second].second.push_back(place);
  }
  std::vector<std::vector<FileEntry>> files(logs.size());
  on_cores(logs.size(), [&](std::size_t i) {
    for (const Place& place : logs[i].second) add_files(files[i], logs[i].first->reader.files_at(place, variable), true);
  });
  std::vector<FileEntry> all;
  for (std::vector<FileEntry>& some : files) std::move(some.begin(), some.end(), std::back_inserter(all));
  add_files(step.files, std::move(all), false);
  step.total = {};
  return step;
}

std::uint64_t Manifest::records_of_last_run() const { return runs_.empty() ? 0 : last_run()->records; }

std::vector<std::string> Manifest::why_partial(std::int64_t step) const {
  const Run& run = *run_of(step);
  return run.why_partial(run.steps.at(step));
}

std::string Manifest::unreported_servers(std::int64_t step) const {
  const Run& run = *run_of(step);
  return run.unreported(run.steps.at(step).step);
}

std::map<std::int64_t, std::vector<std::string>> Manifest::not_stored() const {
  std::map<std::int64_t, std::vector<std::string>> why;
  for (const auto& [step, run] : waiting_)
    if (std::vector<std::string> reasons = run->why_partial(run->steps.at(step)); !reasons.empty())
      why.emplace(step, std::move(reasons));
  return why;
}

std::set<std::string> Manifest::files() const {
  std::set<std::string> names;
  for (const auto& [generation, run] : runs_)
    for (const auto& [step, stored] : run->steps) names.merge(names_in(stored));
  return names;
}

std::set<std::string> Manifest::replaced() const {
  std::set<std::string> names;
  for (const auto& [run, step] : replaced_) names.merge(names_in(run->steps.at(step)));
  return names;
}

std::set<std::string> Manifest::names_in(const Stored& stored) const {
  std::set<std::string> names;
  for (const auto& [source, place] : stored.records) try {
      for (FileEntry& file : source->reader.files_at(place, "")) names.insert(std::move(file.name));
    } catch (const Error&) {
    } catch (const Failure&) {
    }
  return names;
}

bool Manifest::has_ended() const {
  const Run* const run = last_with_steps();
  return run != nullptr && run->has_ended();
}

std::string Manifest::why_not_ended() const {
  const Run* const run = last_with_steps();
  std::size_t ended = 0;
  if (run != nullptr)
    for (const auto& [name, source] : run->sources) {
      if (source->delivery.has_losses()) return "the run has lost clients";
      ended += source->delivery.has_ended() ? 1 : 0;
    }
  return ended > 0 ? "some of its servers have not ended" : "the run has not ended";
}

bool Manifest::last_run_has_steps() const { return !runs_.empty() && !last_run()->steps.empty(); }

std::optional<std::int64_t> Manifest::first_stored_of_last_run() const {
  return runs_.empty() ? std::nullopt : last_run()->first_stored();
}

}  // namespace damaris::manifest
