#include "server/make_region.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/format.hpp"
#include "core/base/log.hpp"
#include "core/base/process.hpp"
#include "core/base/text.hpp"
#include "core/model/variable_table.hpp"
#include "core/shm/sizes.hpp"
#include "server/spill.hpp"

namespace damaris::server {

namespace {

// Before anything is made for each of them: there may be hundreds of millions.
void require_pages(const model::Architecture& a, int clients) {
  const std::uint64_t lanes = static_cast<std::uint64_t>(clients) * static_cast<std::uint64_t>(a.threads);
  if (!a.pooled && a.buffer_bytes / shm::kPage < lanes)
    throw Error(
        DC_E_CONFIG,
        format("a buffer of {} is too small for {} clients with {} threads, at {} for each; give <buffer size=...> more, or set "
               "fewer clients",
               size_text(a.buffer_bytes), clients, a.threads, size_text(shm::kPage)));
}

}  // namespace

std::shared_ptr<shm::Region> make_region(const model::Model& model, const std::string& xml, int clients, const RegionPlace& place) {
  require_pages(model.architecture, clients);
  shm::RegionSpec spec;
  spec.name = place.name;
  spec.simulation = model.simulation;
  spec.host = place.host;
  spec.server_index = place.server_index;
  spec.server_count = place.server_count;
  spec.detached = place.detached;
  spec.xml = xml;
  if (!model.architecture.spill.empty()) spec.spill = Spill::path_for(model.architecture.spill, place.name);
  spec.config_place = place_digest(model.file);
  spec.run = place.run != 0 ? place.run : digest(run_identity(xml));
  model::Model stored = model;
  std::error_code gone;  // the folder has been removed: recovery needs --basename
  stored.folder = std::filesystem::current_path(gone).string();
  stored.server_log = log_place();
  spec.model = model::to_json_parts(stored);
  spec.variables = model::variable_table_of(model);
  spec.clients = static_cast<std::uint32_t>(clients);
  spec.threads = static_cast<std::uint32_t>(model.architecture.threads);
  spec.lane_messages = shm::lane_capacity(model, spec.clients);
  spec.buffer_bytes = model.architecture.buffer_bytes;
  spec.weights = model.architecture.weights;
  spec.pooled = model.architecture.pooled;
  spec.log_files = model::first_file(model, model.logs.size());
  return std::make_shared<shm::Region>(shm::Region::create(spec));
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  const std::string text = name;
  return text.substr(0, text.find('.'));
}

std::string sanitized_host_name(std::string host) {
  const auto is_odd = [](char c) { return !is_ascii_letter_or_digit(c) && c != '-' && c != '_' && c != '.'; };
  std::replace_if(host.begin(), host.end(), is_odd, '_');
  return host;
}

}  // namespace damaris::server
