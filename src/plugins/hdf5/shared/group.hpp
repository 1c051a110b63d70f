// Which servers write a file together, and what its name says of them.
// Used by: the hdf5 plugin, on the server's dispatch thread.
// Before it: settings.hpp. After it: agreement.hpp, team.hpp, file_names.hpp.
#pragma once

#include <damaris/plugin.h>

#include <string>

#include "../settings/settings.hpp"

namespace damaris::hdf5 {

// Servers first .. first+size-1; the first leads.
struct Group {
  int first = 0, size = 1;
  int leader() const { return first; }
};

// Of one server alone where each writes its own files.
Group group_of(const dc_host_t& host, const Settings& settings);

// What stands between the stem and ".i<iteration>.h5": ".node7.s3", ".g1" or "".
std::string name_part(const dc_host_t& host, const Settings& settings);

}  // namespace damaris::hdf5
