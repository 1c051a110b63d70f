// The paths of a run's views, next to its files and named after the basename; and the names within them.
// Used by: the hdf5 plugin on the work thread of the server that writes the views.
// Before it: output_folder.hpp. After it: master_file.hpp, xdmf.hpp.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/output_file.hpp"
#include "global_view.hpp"
#include "manifest/entries.hpp"

namespace damaris::hdf5 {

// The names of dimensions are the same in every group, so that groups can be read alone or together.
class ViewNames {
 public:
  ViewNames(const GlobalView& view, const dc_host_t& host);

  const std::string& time(std::size_t axis) const { return times_[axis]; }  // "time", "time_1", ...
  const std::string& step(std::size_t axis) const { return steps_[axis]; }  // one for each time
  // The dimension labelled by a coordinate: its variable's name without groups.
  const std::string& coordinate(std::size_t coordinate) const { return coordinates_[coordinate]; }
  // The array's dimensions without time, slowest first: <layout>_z, _y, _x, or <layout>_0, ... if more than three. Arrays with the same
  // extents and position share them; one-dimensional arrays only within a layout. Of a stack: <layout>_block, then those of the layout.
  const std::vector<std::string>& dimensions(std::size_t array) const { return dimensions_[array]; }

 private:
  std::string free(std::string wanted);
  const std::vector<std::string>& dimensions_of(const GlobalArray& array);

  std::set<std::string> taken_;
  std::vector<std::string> times_, steps_, coordinates_;
  std::vector<std::vector<std::string>> dimensions_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::vector<std::string>> known_;
  std::map<std::string, std::size_t> shapes_;  // layout -> number of its shapes with names
};

// The paths of a run's views, and the function that records a view.
struct ViewPlace {
  std::string folder;  // absolute
  std::string stem;    // last part of the basename
  std::string host;    // this host: makes names of temporary files unique among nodes
  // Records a view in the manifest, before it is put in place. Throws Failure. Empty: not recorded.
  std::function<void(const manifest::ViewEntry&)> record_view = {};

  std::string final_path(const char* suffix) const { return folder + "/" + stem + suffix; }
  // The prefix of the temporary name: hidden, with the process id.
  std::string temporary_path(const char* suffix) const;
};

// Throws Error(DC_E_NO_OUTPUT) if the path of a view is taken by a file that Damaris did not write, which must not be replaced, or by one of
// another user, which cannot be.
void require_places(const ViewPlace& place);

// Why the name of a view cannot be taken from what has it: another user's file, or a folder; "" if neither has it.
std::string why_taken(const std::string& path);

constexpr char kMasterSuffix[] = ".h5";
constexpr char kXdmfSuffix[] = ".xmf";
constexpr char kXdmfDomain[] = "Damaris";  // identifies the file as ours

// Makes a finished view durable, records its checksum in the manifest, and renames it into place. The record comes first, so that a crash in
// between leaves the previous view, which the manifest records too. Throws Failure.
void put_in_place(OutputFile& view, const ViewPlace& place);

// Removes the temporary files of dead processes of this host, as far as possible.
void remove_leftovers(const ViewPlace& place);

}  // namespace damaris::hdf5
