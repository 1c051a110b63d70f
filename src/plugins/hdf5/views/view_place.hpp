// Where the views of a run lie: beside its files, named by the basename alone.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
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
#include "manifest/views.hpp"

namespace damaris::hdf5 {

// The names are the same in every group, so that a group can be read alone and together with others.
class ViewNames {
 public:
  ViewNames(const GlobalView& view, const dc_host_t& host);

  const std::string& time(std::size_t axis) const { return times_[axis]; }  // "time", "time_1", ...
  const std::string& step(std::size_t axis) const { return steps_[axis]; }  // beside each of them
  // The dimension that a coordinate labels: its variable's name without groups.
  const std::string& coordinate(std::size_t coordinate) const { return coordinates_[coordinate]; }
  // Of the array's dimensions without time, slowest first: <layout>_z, _y, _x, or <layout>_0, ... beyond three. Arrays of the
  // same extents and place share them, those of one dimension only within a layout. Of a stack
  // <layout>_block, then those of the layout.
  const std::vector<std::string>& dimensions(std::size_t array) const { return dimensions_[array]; }

 private:
  std::string free(std::string wanted);
  const std::vector<std::string>& dimensions_of(const GlobalArray& array);

  std::set<std::string> taken_;
  std::vector<std::string> times_, steps_, coordinates_;
  std::vector<std::vector<std::string>> dimensions_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::vector<std::string>> known_;
  std::map<std::string, std::size_t> shapes_;  // layout -> how many of its shapes have names
};

// Enters a view into the manifest and then puts it in place, before any other process can do so with its own. Throws Failure.

struct ViewPlace {
  std::string folder;             // absolute
  std::string stem;               // last part of the basename
  std::string host;               // this one: names of temporary files must not meet those of other nodes
  manifest::RecordView tell = {};  // empty: nothing is entered

  std::string final_path(const char* suffix) const { return folder + "/" + stem + suffix; }
  // How its name begins: hidden, with the process id.
  std::string temporary_path(const char* suffix) const;
};

// Throws Error(DC_E_NO_OUTPUT) where a view's place is taken by a file that no run of Damaris made, or that another user did: the view would
// replace the one, and could not replace the other.
void require_places(const ViewPlace& place);

constexpr char kMasterSuffix[] = ".h5";
constexpr char kXdmfSuffix[] = ".xmf";
constexpr char kXdmfDomain[] = "Damaris";  // by which the file is known as ours

// Makes a finished view durable and puts it in place of the one before, with its checksum in the manifest: first the line, then the name, so that a
// crash in between leaves the view before, which the manifest knows too. Throws Failure.
void put_in_place(OutputFile& view, const ViewPlace& place);

// Removes the temporary files of processes of this host that are gone. What cannot be removed stays.
void remove_leftovers(const ViewPlace& place);

}  // namespace damaris::hdf5
