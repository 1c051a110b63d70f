// Keeps the views of a run, the master file and the XDMF file, up to date with its record, at a bounded cost.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the record, one plugin call at a time.
// Before it: the commit record has a new line. After it: master_file.hpp, xdmf.hpp.
#pragma once

#include <damaris/plugin.h>

#include <chrono>
#include <string>

#include "global_view.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// A view is written anew as a whole, so its cost grows with the run.
class RunViews {
 public:
  // `folder` absolute, `stem` the last part of the basename. Removes what a killed server of this host left half written. `host` must
  // outlive this object.
  RunViews(const dc_host_t& host, const std::string& folder, const std::string& stem);

  // The record has grown. Leaves the views as they are while the last time took more than 5 % of the time since then. A failure is
  // logged, and tried again at the next call: the iteration itself is stored.
  void update(const Steps& steps);

  // The end of the run: the views show all of it. Throws damaris::Error(DC_E_IO); the views before stay.
  void finish(const Steps& steps);

 private:
  using Clock = std::chrono::steady_clock;
  void write(const Steps& steps);

  const dc_host_t& host_;
  ViewPlace place_;
  Clock::time_point begun_ = {};
  Clock::duration took_ = {};
};

}  // namespace damaris::hdf5
