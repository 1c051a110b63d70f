// One update of the views, in pieces: the views of the steps that have changed, of their spans, of the whole run, and the XDMF file.
// Used by: run_views.hpp, on the work thread of the server that keeps the manifest.
// Before it: followed_run.hpp has read what is new. After it: view_file.hpp, xdmf.hpp.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "followed_run.hpp"
#include "step_shape.hpp"
#include "view_file.hpp"
#include "view_place.hpp"
#include "xdmf.hpp"

namespace damaris::hdf5 {

// What is known of a run between two updates.
struct ShownRun {
  FollowedRun run;
  StepShapes shapes;  // of the steps that have been looked at
  SharedShapes shared = {};
  std::set<std::int64_t> due = {};  // steps whose views may not be those of the manifest
  std::int64_t spans_from =
      std::numeric_limits<std::int64_t>::min();  // spans from that of this step on may not be those of the steps
  std::int64_t xdmf_from = std::numeric_limits<std::int64_t>::min();  // the same of the XDMF file
  XdmfFile xdmf = {};
  bool is_swept = false;  // of the views of runs that this one has replaced
};

class ViewsUpdate {
 public:
  struct Options {
    bool complete = false;  // the run has ended
    bool has_xdmf = true;
  };

  // All arguments must outlive this object, and nobody else may change `shown`. Steps of `shown` become due no more when their views
  // are in place, so that an update that failed is taken up by the next one. All functions throw Failure or damaris::Error.
  ViewsUpdate(ShownRun& shown, const ViewPlace& place, const dc_host_t& host, Options options);

  // Returns whether there is more.
  bool write_piece();
  // Variables that are kept out of the views by their 16 bits, once the whole run was looked at.
  const std::vector<NotShown>& not_shown() const { return not_shown_; }

 private:
  void begin_step();
  void begin_span();
  void begin_master();
  void end();
  void sweep() const;
  bool is_up_to_date(const std::string& suffix, std::int64_t made_of) const;

  ShownRun& shown_;
  const ViewPlace& place_;
  const dc_host_t& host_;
  Options options_;
  std::uint32_t declarations_;
  std::unique_ptr<ViewWriter> writer_;
  std::function<void()> then_;       // when the file being written is in place
  std::optional<std::size_t> span_;  // the next one; none before the steps are done
  bool has_master_ = false;
  std::vector<NotShown> not_shown_;
};

}  // namespace damaris::hdf5
