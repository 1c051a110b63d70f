#include "run_views.hpp"

#include <damaris/error.hpp>

#include <exception>
#include <filesystem>

#include "global_view.hpp"
#include "master_file.hpp"
#include "xdmf.hpp"

namespace damaris::hdf5 {

RunViews::RunViews(const dc_host_t& host, const std::string& record, Now now)
    : host_(host),
      record_(record),
      place_{record_.folder(), std::filesystem::path(record).stem().string(), host.host_name},
      now_(now) {
  remove_leftovers(place_);
}

void RunViews::update() {
  constexpr int kShare = 20;  // one part of the time in so many
  if (now_() - ended_ < took_ * kShare) return;
  try {
    record_.read_on();
    write();
  } catch (const std::exception& error) {
    const std::string line =
        "hdf5: the master file " + place_.final_path(kMasterSuffix) +
        " does not show the last iterations yet; they are stored, and it is written again after the next one: " + error.what();
    host_.log(host_.self, 1, line.c_str());
  }
}

void RunViews::finish() {
  try {
    record_.read_on();
    // What another server has written meanwhile may have been replaced by less: then the record has more by now. One that goes on and
    // on writes the views itself when it finishes.
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
      write();
      if (!record_.read_on()) break;
    }
  } catch (const std::exception& error) {
    throw Error(DC_E_IO, "the master file " + place_.final_path(kMasterSuffix) +
                             " does not show the whole run, whose files are all stored: " + error.what() +
                             "; make room in that folder or make it writable");
  }
}

void RunViews::write() {
  if (record_.steps().empty()) return;
  const Clock::time_point begun = now_();
  const GlobalView view = global_view(record_.steps(), host_);
  const ViewNames names(view, host_);
  write_master(place_, view, names, record_.steps(), host_);
  write_xdmf(place_, view, names);
  ended_ = now_();
  took_ = ended_ - begun;
}

}  // namespace damaris::hdf5
