// Creates a region from a model: the only place that maps the sizes in the XML to a RegionSpec.
// Used by: damaris-server, the MPI start and the in-place session, once each at start-up.
#pragma once

#include <memory>
#include <string>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

struct RegionPlace {
  std::string name;  // "": private memory, for a session in place
  std::string host;
  int server_index = 0;
  bool detached = false;
  int server_count = 1;
  std::uint64_t run = 0;  // agreed on by the processes of the run; 0: derived from run_identity
};

// Throws what Region::create throws.
std::shared_ptr<shm::Region> make_region(const model::Model& model, const std::string& xml, int clients, const RegionPlace& place);

std::string host_name();

// For plugins, which build file names from it: replaces everything but letters, digits, '-', '_' and '.' by '_'.
std::string sanitized_host_name(std::string host);

}  // namespace damaris::server
