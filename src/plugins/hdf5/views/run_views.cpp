#include "run_views.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include "xdmf.hpp"

namespace damaris::hdf5 {
namespace {

// The sentence of views that could not be written. `remedy` is for a reason that has none of its own.
std::string lagging(const ViewPlace& place, const std::string& what_is_missing, const std::exception& error,
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

RunViews::RunViews(const dc_host_t& host, const std::string& record, Now now, manifest::RecordView record_view)
    : host_(host),
      place_{std::filesystem::path(record).parent_path().string(), std::filesystem::path(record).stem().string(), host.host_name,
             std::move(record_view)},
      shown_{FollowedRun(record), {}},
      has_xdmf_(can_name(place_.stem)),
      now_(now) {
  if (place_.folder.empty()) place_.folder = ".";
  require_places(place_);
  remove_leftovers(place_);
  if (has_xdmf_) return;
  const std::string line = "hdf5: no XDMF file is written for " + place_.final_path(kMasterSuffix) +
                           ", as readers of XDMF cannot open '" + place_.stem +
                           "'; choose a basename of ASCII letters without ':' and '\\' to open the run in ParaView";
  host_.log(host_.self, 1, line.c_str());
}

// May be called while a view is being written, because adding its line may detect that the manifest was replaced.
void RunViews::reset() { again_ = due_ = true; }

void RunViews::read_on() {
  if (std::exchange(again_, false)) {
    shown_.run = FollowedRun(shown_.run.path());
    for (const auto& [step, shape] : shown_.shapes) shown_.due.insert(step);
    shown_.spans_from = shown_.xdmf_from = std::numeric_limits<std::int64_t>::min();
    damage_reported_ = 0;
    more_damage_reported_ = false;
  }
  shown_.run.read_on();
  report_damage();
}

void RunViews::report_damage() {
  const FollowedRun& run = shown_.run;
  damage_reported_ = std::min(damage_reported_, run.damaged().size());
  for (; damage_reported_ < run.damaged().size(); ++damage_reported_)
    host_.log(host_.self, 1, ("hdf5: the views omit a line of the manifest: " + run.damaged()[damage_reported_]).c_str());
  if (run.more_damaged() == 0 || std::exchange(more_damage_reported_, true)) return;
  host_.log(host_.self, 1, "hdf5: the views omit more lines of the manifest; 'damaris verify' counts them");
}

RunViews::Work RunViews::work() {
  constexpr int kShare = 20;  // at most 1/kShare of the time
  if (!due_ && update_ == nullptr) return Work::none;
  if (again_) update_.reset();
  const Clock::time_point begun = now_();
  if (update_ == nullptr && begun - ended_ < took_ * kShare) return Work::later;
  try {
    const bool more = update_ == nullptr ? begin() : write_piece();
    ended_ = now_();
    taking_ += ended_ - begun;
    if (more) return Work::more;
    took_ = std::exchange(taking_, {});
    update_.reset();
    return due_ ? Work::later : Work::none;
  } catch (const std::exception& error) {
    update_.reset();
    const std::string line =
        "hdf5: " + lagging(place_, "the last steps yet, which are stored; retrying after the next step", error);
    host_.log(host_.self, 1, line.c_str());
    return Work::none;
  }
}

// Returns whether there is something to write.
bool RunViews::begin() {
  due_ = false;
  taking_ = {};
  read_on();
  if (shown_.run.steps().empty()) return false;
  update_ = std::make_unique<ViewsUpdate>(shown_, place_, host_, ViewsUpdate::Options{false, has_xdmf_});
  return true;
}

bool RunViews::write_piece() {
  if (update_->write_piece()) return true;
  warn_of_16_bits();
  return false;
}

void RunViews::show_all() {
  const Clock::time_point begun = now_();
  update_ = std::make_unique<ViewsUpdate>(shown_, place_, host_, ViewsUpdate::Options{true, has_xdmf_});
  while (write_piece()) {
  }
  update_.reset();
  ended_ = now_();
  took_ = ended_ - begun;
}

void RunViews::finish() {
  update_.reset();
  try {
    read_on();
    if (!shown_.run.last_run_has_steps()) return;  // the views of the previous run are complete
    // This may have replaced newer views of another server; then the manifest has grown, and the views are written again. A server that keeps
    // adding lines writes the views itself when it finishes.
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds && !shown_.run.steps().empty(); ++round) {
      show_all();
      if (again_)
        read_on();
      else if (!shown_.run.read_on())
        break;
    }
  } catch (const std::exception& error) {
    update_.reset();
    throw Error(DC_E_IO, lagging(place_, "the whole run", error, "; check that the folder exists, is writable and has free space"));
  }
}

// Once per variable: warns that the declared 16 bits keep it out of the views.
void RunViews::warn_of_16_bits() {
  for (const NotShown& one : update_->not_shown()) {
    if (!one.because_of_16_bits || !reported_.insert(one.variable).second) continue;
    const std::string line =
        "hdf5: the master file " + place_.final_path(kMasterSuffix) + " does not show '" + one.variable + "': " + one.why;
    host_.log(host_.self, 1, line.c_str());
  }
}

}  // namespace damaris::hdf5
