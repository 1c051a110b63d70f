// The text of an XDMF file, step by step: numeric arrays of one to three dimensions; those of the same shape and position form one grid.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: global_view.hpp, step_shape.hpp. After it: xdmf.hpp writes it.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <map>
#include <string>

#include "global_view.hpp"
#include "step_shape.hpp"
#include "view_place.hpp"

namespace damaris::hdf5 {

// What the whole run says about each of its steps.
struct XdmfRun {
  const StepShapes& steps;
  const GlobalView& view;  // of the whole run, with coordinates
  const ViewNames& names;
  const dc_host_t& host;
};

constexpr char kXdmfHead[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<Xdmf Version=\"2.0\">\n"
    "  <Domain Name=\"Damaris\">\n"
    "    <Grid Name=\"steps\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
constexpr char kXdmfEnd[] = "    </Grid>\n  </Domain>\n</Xdmf>\n";

class XdmfText {
 public:
  using Times = std::map<std::int64_t, double>;  // by step

  // `run` must outlive this object.
  XdmfText(std::string stem, const XdmfRun& run);

  // What the text of each step depends on besides the step.
  std::string common() const;
  // "" if the step has nothing to draw.
  std::string of(std::int64_t step) const;
  const Times& times() const { return times_; }

 private:
  std::string stem_;
  const XdmfRun& run_;
  Times times_;
};

}  // namespace damaris::hdf5
