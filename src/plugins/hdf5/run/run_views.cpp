#include "run_views.hpp"

#include <damaris/error.hpp>

#include "../failure.hpp"
#include "master_file.hpp"
#include "xdmf.hpp"

namespace damaris::hdf5 {

RunViews::RunViews(const dc_host_t& host, const std::string& folder, const std::string& stem)
    : host_(host), place_{folder, stem, host.host_name} {
  remove_leftovers(place_);
}

void RunViews::update(const Steps& steps) {
  constexpr int kShare = 20;  // one part of the time in so many
  if (Clock::now() - begun_ < took_ * kShare) return;
  try {
    write(steps);
  } catch (const std::exception& error) {
    const std::string line = "hdf5: the master file " + place_.final_path(kMasterSuffix) +
                             " does not show the last iterations yet; they are stored, and it is written again after the next one: " +
                             error.what();
    host_.log(host_.self, 1, line.c_str());
  }
}

void RunViews::finish(const Steps& steps) {
  try {
    write(steps);
  } catch (const Failure& failure) {
    throw Error(DC_E_IO, "the master file " + place_.final_path(kMasterSuffix) +
                             " does not show the whole run, whose files are all stored: " + failure.what() +
                             "; make room in that folder or make it writable");
  }
}

void RunViews::write(const Steps& steps) {
  begun_ = Clock::now();
  const GlobalView view = global_view(steps, host_);
  const ViewNames names(view, host_);
  write_master(place_, view, names, steps, host_);
  write_xdmf(place_, view);
  took_ = Clock::now() - begun_;
}

}  // namespace damaris::hdf5
