// From a model to a region: one place that knows which sizes of the XML go where.
// Used by: damaris-server, the MPI start and the in-place session, once each at start-up.
#pragma once

#include <memory>
#include <string>

#include "core/model/model.hpp"
#include "core/shm/region.hpp"

namespace damaris::server {

struct RegionPlace {
  std::string name;  // "" for a private region of a session in place
  std::string host;
  int server_index = 0;
  bool detached = false;
  int server_count = 1;
  std::uint64_t run = 0;  // that the processes of the run agreed on; 0: that of run_identity
};

// Throws what Region::create throws.
std::shared_ptr<shm::Region> make_region(const model::Model& model, const std::string& xml, int clients, const RegionPlace& place);

std::string host_name();

// As plugins hear of it: anything may be in a host's name, and they make names of files of it. Other than letters, digits, '-', '_' and '.'
// becomes '_'.
std::string sanitized_host_name(std::string host);

}  // namespace damaris::server
