// Keeps the views of a run, the master file and the XDMF file, up to date with its manifest, at a bounded cost.
// Used by: the hdf5 plugin on the dispatch thread of each server that adds to the manifest, one plugin call at a time.
// Before it: the manifest has a new line. After it: master_file.hpp, xdmf.hpp.
#pragma once

#include <damaris/plugin.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "core/base/clock.hpp"
#include "global_view.hpp"
#include "manifest/reader.hpp"
#include "master_file.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// A view is written anew as a whole, so its cost grows with the run; in pieces, so that the server need not let anybody wait for it.
class RunViews : public manifest::Views {
 public:
  using Now = Clock::time_point (*)();

  // `record` is the path of the manifest, <folder>/<stem>.jsonl, beside which the views lie. Removes what a killed server of this host
  // left half written. `host` must outlive this object. When the manifest outgrows `memory_bytes` the views show its first steps that
  // do not, and stay so; the log says it. `tell` enters each view into the manifest.
  RunViews(const dc_host_t& host, const std::string& record, std::uint64_t memory_bytes, Now now = Clock::now,
           manifest::RecordView tell = {});

  void reset() override;
  void manifest_changed() override { due_ = true; }
  // Writes a piece of the views where they lag behind the manifest; `later` while the last time took more than 5 % of the time since
  // then. A failure is logged, and tried again after the next note: the step itself is stored.
  Work work() override;

  // The end of this server's part: the views show all that is in the manifest, also when other servers add to it and finish at the
  // same time. Throws damaris::Error(DC_E_IO); the views before stay.
  void finish() override;

 private:
  // What is shown while it is being written.
  struct Writing {
    Writing(const RunViews& views, const Steps& steps, bool complete);
    GlobalView view;
    ViewNames names;
    MasterWriter master;
  };

  bool begin();
  bool write_piece(Writing& writing) const;
  void show(const Steps& steps, bool complete);
  void tell_of_16_bits(const GlobalView& view);
  void read_on();
  void give_up(std::uint64_t needed_bytes);

  const dc_host_t& host_;
  manifest::Reader record_;
  std::size_t damage_told_ = 0;  // of its lines that cannot be read
  bool more_damage_told_ = false;
  ViewPlace place_;
  std::uint64_t memory_bytes_;
  bool has_xdmf_;
  bool given_up_ = false;
  std::set<std::string> told_;  // variables of 16 bits of which the log knows
  bool due_ = false, again_ = false;
  std::unique_ptr<Writing> writing_;
  Now now_;
  Clock::time_point ended_ = {};
  Clock::duration took_ = {}, taking_ = {};  // the last time, and this one so far
};

}  // namespace damaris::hdf5
