#include "run_views.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "xdmf.hpp"

namespace damaris::hdf5 {
namespace {

// Measured with HDF5 1.10 and 1.14: the memory per dataset in the manifest and the open master file, and the additional memory while the
// datasets of one variable are mapped.
constexpr std::uint64_t kHeldBytes = 9 << 10, kMappedBytes = 32 << 10;

// Estimates the memory needed for the steps added so far.
class Need {
 public:
  void add(const manifest::StepEntry& record) {
    for (const manifest::FileEntry& file : record.files)
      for (const manifest::DatasetEntry& dataset : file.datasets) {
        ++all_;
        most_ = std::max(most_, ++parts_[dataset.variable]);
      }
  }
  std::uint64_t bytes() const { return all_ * kHeldBytes + most_ * kMappedBytes; }

 private:
  std::map<std::string, std::uint64_t> parts_;  // by variable
  std::uint64_t all_ = 0, most_ = 0;
};

// The sentence of views that could not be written. `remedy` is for a reason without its own.
std::string views_error(const ViewPlace& place, const std::string& what_is_missing, const std::exception& error,
                        const char* remedy = "") {
  for (const char* suffix : {kMasterSuffix, kXdmfSuffix}) {
    const std::string path = place.final_path(suffix), why = why_taken(path);
    if (why.empty()) continue;
    return "the view " + path + " does not show " + what_is_missing + ": something else has its name, and " + why +
           "; have it moved away, or choose another basename";
  }
  return "the master file " + place.final_path(kMasterSuffix) + " does not show " + what_is_missing + ": " + error.what() + remedy;
}

}  // namespace

RunViews::RunViews(const dc_host_t& host, const std::string& basename, std::uint64_t memory_bytes, Now now, RecordView record_view,
                   bool died)
    : host_(host),
      manifest_(basename, manifest::Manifest::kAll, true),
      place_{manifest_.folder(), manifest_.stem(), host.host_name,
             [this, record_view = std::move(record_view)](const manifest::ViewEntry& view) {
               if (record_view) record_view(view, manifest_.records_of_last_run());
             }},
      memory_bytes_(memory_bytes),
      has_xdmf_(can_name(place_.stem)),
      died_(died),
      now_(now) {
  require_places(place_);
  remove_leftovers(place_);
  if (has_xdmf_) return;
  const std::string line = "hdf5: no XDMF file is written for " + place_.final_path(kMasterSuffix) +
                           ", as readers of XDMF cannot open '" + place_.stem +
                           "'; choose a basename of ASCII letters without ':' and '\\' to open the run in ParaView";
  host_.log(host_.self, 1, line.c_str());
}

RunViews::Writing::Writing(const RunViews& views, Steps&& shown, bool complete)
    : steps(std::move(shown)),
      view(global_view(steps, views.host_)),
      names(view, views.host_),
      master(views.place_, view, names, steps, views.host_, complete) {}

void RunViews::read_on() {
  manifest_.read_on();
  damage_reported_ = std::min(damage_reported_, manifest_.damaged().size());
  for (; damage_reported_ < manifest_.damaged().size(); ++damage_reported_)
    host_.log(host_.self, 1, ("hdf5: the views omit a line of the manifest: " + manifest_.damaged()[damage_reported_]).c_str());
  if (manifest_.more_damaged() == 0 || std::exchange(more_damage_reported_, true)) return;
  host_.log(host_.self, 1, "hdf5: the views omit more lines of the manifest; 'damaris verify' counts them");
}

RunViews::Work RunViews::work() {
  constexpr int kShare = 20;  // at most 1/kShare of the time
  if (stopped_ || (!due_ && writing_ == nullptr)) return Work::none;
  const Clock::time_point begun = now_();
  if (writing_ == nullptr && begun - ended_ < took_ * kShare) return Work::later;
  try {
    const bool more = writing_ == nullptr ? begin() : write_piece(*writing_);
    ended_ = now_();
    taking_ += ended_ - begun;
    if (more) return Work::more;
    took_ = std::exchange(taking_, {});
    writing_.reset();
    return due_ ? Work::later : Work::none;
  } catch (const std::exception& error) {
    writing_.reset();
    const std::string line =
        "hdf5: " + views_error(place_, "the last steps yet, which are stored; retrying after the next step", error);
    host_.log(host_.self, 1, line.c_str());
    return Work::none;
  }
}

void RunViews::leave_out(std::int64_t step, const std::string& why) {
  if (!left_out_.insert(step).second) return;
  host_.log(host_.self, 1, ("hdf5: the views omit step " + std::to_string(step) + ": " + why).c_str());
}

// Loads the files of the steps, as far as the memory suffices. Returns whether it suffices for all.
bool RunViews::load(Steps& steps) {
  Need need;
  for (const auto& [number, record] : manifest_.steps()) {
    manifest::StepEntry step;
    try {
      step = manifest_.with_files(number);
    } catch (const Error& error) {  // the others can be shown
      leave_out(number, error.what());
      continue;
    }
    need.add(step);
    needed_bytes_ = need.bytes();
    if (needed_bytes_ > memory_bytes_) return false;
    steps.emplace_hint(steps.end(), number, std::move(step));
  }
  return true;
}

// Returns whether there is something to write.
bool RunViews::begin() {
  due_ = false;
  taking_ = {};
  read_on();
  if (manifest_.steps().empty()) return false;
  Steps steps;
  if (!load(steps)) {
    stop_updates(std::move(steps));
    return false;
  }
  writing_ = std::make_unique<Writing>(*this, std::move(steps), false);
  warn_of_16_bits(writing_->view);
  return true;
}

bool RunViews::write_piece(Writing& writing) const {
  if (writing.master.write_piece()) return true;
  if (has_xdmf_) write_xdmf(place_, writing.view, writing.names);
  return false;
}

void RunViews::show(Steps&& steps, bool complete) {
  const Clock::time_point begun = now_();
  Writing writing(*this, std::move(steps), complete);
  warn_of_16_bits(writing.view);
  while (write_piece(writing)) {
  }
  ended_ = now_();
  took_ = ended_ - begun;
}

void RunViews::finish() {
  if (stopped_) return;
  writing_.reset();
  try {
    read_on();
    if (!manifest_.last_run_has_steps()) return;  // the views of the previous run are complete
    // This may have replaced newer views of another server; then the manifest has grown, and the views are written again. A server that keeps
    // adding records writes the views itself when it finishes.
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds && !manifest_.steps().empty(); ++round) {
      Steps steps;
      if (!load(steps)) return stop_updates(std::move(steps));
      show(std::move(steps), !died_);
      if (!manifest_.read_on()) break;
    }
  } catch (const std::exception& error) {
    throw Error(DC_E_IO,
                views_error(place_, "the whole run", error, "; check that the folder exists, is writable and has free space"));
  }
}

// Once per variable: warns that the declared 16 bits keep it out of the views.
void RunViews::warn_of_16_bits(const GlobalView& view) {
  for (const NotShown& one : view.not_shown) {
    if (!one.because_of_16_bits || !reported_.insert(one.variable).second) continue;
    const std::string line =
        "hdf5: the master file " + place_.final_path(kMasterSuffix) + " does not show '" + one.variable + "': " + one.why;
    host_.log(host_.self, 1, line.c_str());
  }
}

// Releases the memory of the manifest first.
void RunViews::stop_updates(Steps&& fitting) {
  const std::string last = fitting.empty() ? "" : std::to_string(fitting.rbegin()->first);
  manifest_ = manifest::Manifest(manifest_.folder() + "/" + manifest_.stem(), manifest::Manifest::kAll, true);
  if (!fitting.empty()) show(std::move(fitting), false);
  stopped_ = true;
  const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const std::string line = "hdf5: the master file " + place_.final_path(kMasterSuffix) +
                           (last.empty() ? " is not written" : " and the XDMF file show only steps up to " + last) +
                           ", as the next one needs " + mebibytes(needed_bytes_) + " and half of memory=\"...\" is " +
                           mebibytes(memory_bytes_) +
                           "; all steps are stored; raise memory, or write fewer files with files=\"per-group\" or \"single\"";
  host_.log(host_.self, 1, line.c_str());
}

}  // namespace damaris::hdf5
