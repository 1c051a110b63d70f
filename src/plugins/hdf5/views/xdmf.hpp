// The XDMF file of a run, with which ParaView and VTK show the arrays of the steps' views as grids over time.
// Used by: the hdf5 plugin on the work thread of the server that keeps the manifest.
// Before it: the views of the steps, and the master file for coordinates, to which it refers. After it: ParaView.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "view_place.hpp"
#include "xdmf_text.hpp"

namespace damaris::hdf5 {

// Whether readers of XDMF can open a master file of this name: they split names at colons, and support neither backslashes nor non-ASCII
// characters.
bool can_name(const std::string& stem);

// <stem>.xmf. A step is added in place of the closing tags. A crash may leave a file without them, until the next process that keeps the manifest writes it anew.
class XdmfFile {
 public:
  // Shows the run; steps before `changed` are as in the last call. Throws Failure.
  void update(const ViewPlace& place, const XdmfRun& run, std::int64_t changed);

 private:
  struct Begin {  // of a step's text
    std::int64_t step = 0;
    std::uint64_t at = 0;
    std::uint32_t sum = 0;  // CRC-32 of all before
  };
  void write_anew(const ViewPlace& place, const XdmfRun& run, const XdmfText& text);
  bool write_behind(const ViewPlace& place, std::size_t kept, std::int64_t changed, const XdmfRun& run, const XdmfText& text);
  bool replace_end(const ViewPlace& place, std::uint64_t at, const std::string& text);

  std::string common_;        // what the text of all steps depends on
  std::vector<Begin> steps_;  // and the end of all; empty before the first file
  std::uint64_t bytes_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace damaris::hdf5
