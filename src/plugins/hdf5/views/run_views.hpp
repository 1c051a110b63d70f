// Keeps the views of a run up to date with the manifest at a bounded cost: those of its steps and spans, the master file, the XDMF file.
// Used by: the hdf5 plugin on the work thread of each server that adds to the manifest, one plugin call at a time.
// Before it: a new line in the manifest. After it: views_update.hpp.
#pragma once

#include <damaris/plugin.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "core/base/clock.hpp"
#include "manifest/views.hpp"
#include "view_place.hpp"
#include "views_update.hpp"

namespace damaris::hdf5 {

// An update costs what is new, and one array of each span; it is written in pieces, so that no client has to wait for it.
class RunViews : public manifest::Views {
 public:
  using Now = Clock::time_point (*)();

  // `record`: the path of the manifest, <folder>/<stem>.jsonl; the views are next to it. Removes incomplete views of killed servers of this
  // host. `host` must outlive this object. `record_view` records each view in the manifest.
  RunViews(const dc_host_t& host, const std::string& record, Now now = Clock::now, manifest::RecordView record_view = {});

  void reset() override;
  void manifest_changed() override { due_ = true; }
  // Writes a piece of the views if they lag behind the manifest; returns `later` while the last update took more than 5 % of the time since
  // then. A failure is logged, and retried after the next change of the manifest: the step itself is stored.
  Work work() override;

  // This server's last update: the views show the whole manifest, even if other servers add to it and finish at the same time. Throws
  // damaris::Error(DC_E_IO); the previous views stay.
  void finish() override;

 private:
  bool begin();
  bool write_piece();
  void show_all();
  void read_on();
  void report_damage();
  void warn_of_16_bits();

  const dc_host_t& host_;
  ViewPlace place_;
  ShownRun shown_;
  std::size_t damage_reported_ = 0;  // number of damaged lines that were logged
  bool more_damage_reported_ = false;
  bool has_xdmf_;
  std::set<std::string> reported_;  // variables of 16 bits that were logged
  bool due_ = false, again_ = false;
  std::unique_ptr<ViewsUpdate> update_;
  Now now_;
  Clock::time_point ended_ = {};
  Clock::duration took_ = {}, taking_ = {};  // of the last update, and of the current one so far
};

}  // namespace damaris::hdf5
