#include "group.hpp"

#include <algorithm>

namespace damaris::hdf5 {

Group group_of(const dc_host_t& host, const Settings& settings) {
  if (settings.files == Files::single) return {0, host.server_count};
  if (settings.files == Files::per_server) return {host.server_index, 1};
  const int first = host.server_index / settings.group_size * settings.group_size;
  return {first, std::min(settings.group_size, host.server_count - first)};
}

std::string name_part(const dc_host_t& host, const Settings& settings) {
  if (settings.files == Files::single) return "";
  if (settings.files == Files::per_group) return ".g" + std::to_string(host.server_index / settings.group_size);
  return std::string(".") + host.host_name + ".s" + std::to_string(host.server_index);
}

}  // namespace damaris::hdf5
