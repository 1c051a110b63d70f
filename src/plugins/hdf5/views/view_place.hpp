// Where the views of a run lie: beside its files, named by the basename alone.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the manifest.
// Before it: file_names.hpp. After it: master_file.hpp, xdmf.hpp.
#pragma once

#include <functional>
#include <string>

#include "core/base/output_file.hpp"
#include "manifest/views.hpp"

namespace damaris::hdf5 {

// Tells the manifest of a view and then lets it take its place, before any other process can do so with its own. Throws Failure.

struct ViewPlace {
  std::string folder;             // absolute
  std::string stem;               // last part of the basename
  std::string host;               // this one: names of temporary files must not meet those of other nodes
  manifest::EnterView tell = {};  // empty: nobody is told

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
