// Keeps the views of a run, the master file and the XDMF file, up to date with the manifest at a bounded cost.
// Used by: the hdf5 plugin on the work thread of each server that adds to the manifest, one plugin call at a time.
// Before it: a new record in a log. After it: master_file.hpp, xdmf.hpp.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "core/base/clock.hpp"
#include "global_view.hpp"
#include "manifest/manifest.hpp"
#include "master_file.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// A view is always rewritten as a whole, so its cost grows with the run; it is written in pieces, so that no client has to wait for it.
class RunViews {
 public:
  enum class Work { none, more, later };
  using Now = Clock::time_point (*)();
  // Records a new view, which shows so many records. Throws Failure: then it is not put in place.
  using RecordView = std::function<void(const manifest::ViewEntry&, std::uint64_t shown)>;

  // `basename`: of the run; the views are next to its files. Removes incomplete views of killed servers of this
  // host. `host` must outlive this object. When the manifest outgrows `memory_bytes`, a warning is logged and the views show only the steps
  // up to then. `record_view` records each view in the manifest. `died`: this is a recovery of the run, which has not come to its end.
  RunViews(const dc_host_t& host, const std::string& basename, std::uint64_t memory_bytes, Now now = Clock::now,
           RecordView record_view = {}, bool died = false);

  // Records were added to the manifest.
  void manifest_changed() { due_ = true; }
  // Writes a piece of the views if they lag behind the manifest; returns `later` while the last update took more than 5 % of the time since
  // then. A failure is logged, and retried after the next change of the manifest: the step itself is stored.
  Work work();

  // This server's last update: the views show the whole manifest, even if other servers add to it and finish at the same time. Throws
  // damaris::Error(DC_E_IO); the previous views stay.
  void finish();

 private:
  // The views being written.
  struct Writing {
    Writing(const RunViews& views, Steps&& shown, bool complete);
    Steps steps;
    GlobalView view;  // points into them
    ViewNames names;
    MasterWriter master;
  };

  bool begin();
  bool write_piece(Writing& writing) const;
  void show(Steps&& steps, bool complete);
  void warn_of_16_bits(const GlobalView& view);
  void read_on();
  bool load(Steps& steps);
  void leave_out(std::int64_t step, const std::string& why);
  void stop_updates(Steps&& fitting);

  const dc_host_t& host_;
  manifest::Manifest manifest_;
  std::size_t damage_reported_ = 0;  // number of damaged lines that were logged
  bool more_damage_reported_ = false;
  ViewPlace place_;
  std::uint64_t memory_bytes_;
  bool has_xdmf_;
  bool died_;
  bool stopped_ = false;
  std::set<std::int64_t> left_out_;  // steps of which that was logged
  std::set<std::string> reported_;   // variables of 16 bits that were logged
  std::uint64_t needed_bytes_ = 0;   // for the steps that load() takes
  bool due_ = false;
  std::unique_ptr<Writing> writing_;
  Now now_;
  Clock::time_point ended_ = {};
  Clock::duration took_ = {}, taking_ = {};  // of the last update, and of the current one so far
};

}  // namespace damaris::hdf5
