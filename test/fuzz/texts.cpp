// Short texts from the environment, the job system and file names: sizes, durations, node lists, plugin settings, names of regions.
#include <damaris/error.hpp>

#include <cstring>
#include <vector>

#include "core/base/text.hpp"
#include "core/shm/dead_regions.hpp"
#include "fuzz.hpp"
#include "manifest/output_folder.hpp"
#include "mpi/placement.hpp"
#include "plugins/hdf5/file/handle.hpp"
#include "plugins/hdf5/settings/settings.hpp"
#include "plugins/hdf5/shared/shared_layout.hpp"

using namespace damaris;
using fuzz::require;

namespace {

void read_units(const std::string& text) {
  if (const auto bytes = parse_size(text)) require(*bytes <= INT64_MAX, "a size fits into 63 bits");
  if (const auto time = parse_duration_ms(text)) require(*time >= 0, "a duration is not negative");
  if (const auto bytes = parse_size(size_text(text.size()))) require(*bytes <= text.size() + text.size() / 8, "a size can be read");
}

void read_nodes(const std::string& text) {
  const int ranks = text.empty() ? 1 : static_cast<unsigned char>(text[0]) + 1;
  const std::vector<int> nodes = mpi::virtual_nodes(text, ranks);
  require(nodes.size() == static_cast<std::size_t>(ranks), "every rank has a node");
}

// Nothing in a job's or a simulation's name leaves /dev/shm, or looks like another part of a region's name.
void name_regions(const std::string& text) {
  ::setenv("DAMARIS_JOB", text.c_str(), 1);
  const std::string name = shm::region_name(text, 1, 0, 0);
  require(name.find('/', 1) == std::string::npos && name.find('\n') == std::string::npos, "a region is a file of /dev/shm", name);
}

void read_setting(const std::string& text) {
  const std::size_t split = std::min(text.find('='), text.size());
  const std::string key = text.substr(0, split), value = split == text.size() ? "" : text.substr(split + 1);
  const dc_setting_t setting = {key.c_str(), value.c_str()};
  dc_host_t host = {};
  host.simulation = "fuzz";
  host.settings = &setting;
  host.setting_count = 1;
  const hdf5::Settings settings = hdf5::read_settings(host);
  require(settings.threads >= 1 && settings.group_size >= 0 && !settings.basename.empty(), "settings that are taken make sense");
}

void read_file_name(const std::string& text) {
  const manifest::FileNames names("/out/storm", ".node.s0");
  if (names.is_final_name(text)) require(text.find("storm.node.s0.i") == 0, "a final name begins as it should");
  require(names.owner_of_temporary(text) >= 0, "an owner is a process or none");
}

void read_offer(const std::string& text) {
  dc_variable_info_t variables[2] = {};
  variables[0].ndims = 1;
  variables[1].ndims = 3;
  dc_host_t host = {};
  host.variables = variables;
  host.variable_count = 2;
  const hdf5::Offer offer = hdf5::offer_from(text, host);
  for (const hdf5::OfferedVariable& variable : offer.variables) {
    const auto ndims = static_cast<std::size_t>(variables[variable.id].ndims);
    require(variable.global.empty() || variable.global.size() == ndims, "global extents have the variable's dimensions");
  }
  require(hdf5::to_text(hdf5::offer_from(hdf5::to_text(offer), host)) == hdf5::to_text(offer), "an offer survives the way");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kReaders[])(const std::string&) = {read_units,   read_nodes,     name_regions,
                                                      read_setting, read_file_name, read_offer};
  fuzz::Input input(data, size);
  const std::size_t reader = input.below(std::size(kReaders));
  const std::string text(input.rest().substr(0, input.rest().find('\0')));
  try {
    kReaders[reader](text);
  } catch (const Error& error) {
    require(error.code() < DC_OK && !error.sentence().empty(), "a refusal has a code and a sentence");
  }
  return 0;
}
