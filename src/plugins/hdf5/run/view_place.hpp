// Where the views of a run lie: beside its files, named by the basename alone.
// Used by: the hdf5 plugin on the dispatch thread of the server that keeps the record.
// Before it: file_names.hpp. After it: master_file.hpp, xdmf.hpp.
#pragma once

#include <string>

namespace damaris::hdf5 {

struct ViewPlace {
  std::string folder;  // absolute
  std::string stem;    // last part of the basename
  std::string host;    // this one: names of temporary files must not meet those of other nodes

  std::string final_path(const char* suffix) const { return folder + "/" + stem + suffix; }
  // How its name begins: hidden, with the process id.
  std::string temporary_path(const char* suffix) const;
};

constexpr char kMasterSuffix[] = ".h5";
constexpr char kXdmfSuffix[] = ".xmf";

// Removes the temporary files of processes of this host that are gone. What cannot be removed stays.
void remove_leftovers(const ViewPlace& place);

}  // namespace damaris::hdf5
