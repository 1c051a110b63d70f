#include "place_warnings.hpp"

#include <cstring>
#include <set>

#include "pieces.hpp"

namespace damaris::hdf5 {
namespace {

using Spot = std::pair<std::uint32_t, std::pair<Extents, Extents>>;  // variable, and the box of the interior

bool same_values(const dc_dataset_t& one, const dc_dataset_t& other) {
  return one.bytes == other.bytes && std::memcmp(one.data, other.data, one.bytes) == 0;
}

bool is_unplaced(const dc_dataset_t& block) {
  return block.variable->has_global != 0 && block.has_position == 0 && block.bytes > 0;
}

std::string name_of(const dc_variable_info_t& variable, std::int32_t source) {
  return "'" + std::string(variable.path) + "' of client " + std::to_string(source);
}

std::string hidden_text(const dc_variable_info_t& variable, PlaceWarnings::BlockName lost, PlaceWarnings::BlockName shown) {
  return name_of(variable, lost.source) + " (block " + std::to_string(lost.block) + ") has the place of block " +
         std::to_string(shown.block) + " of client " + std::to_string(shown.source) +
         ", and its different values are not stored; check that dc_set_position gives each block its own place";
}

}  // namespace

void PlaceWarnings::add(What what, std::uint32_t variable, std::int64_t step, const std::string& text,
                        std::vector<PlaceWarning>& warnings) {
  const auto [said, is_new] = reported_.emplace(std::make_pair(what, variable), step);
  if (said->second == step) warnings.push_back({text, is_new});
}

std::vector<PlaceWarning> PlaceWarnings::of(const dc_step_t& step) {
  std::vector<PlaceWarning> warnings;
  std::map<Spot, const dc_dataset_t*> placed;
  std::set<std::pair<What, std::uint32_t>> seen;  // in this step
  for (std::size_t i = 0; i < step.dataset_count; ++i) {
    const dc_dataset_t& block = step.datasets[i];
    const std::uint32_t variable = block.variable->id;
    if (is_unplaced(block) && seen.emplace(What::unplaced, variable).second)
      add(What::unplaced, variable, block.step,
          name_of(*block.variable, block.source) +
              " has no position in its global array and is not joined; call dc_set_position for it, or remove 'global' from its "
              "layout '" +
              block.variable->layout + "'",
          warnings);
    if (block.has_position == 0 || block.bytes == 0 || block.variable->ndims == 0) continue;
    const Box box = interior(block);
    const auto [first, is_alone] = placed.emplace(Spot{variable, {box.low, box.high}}, &block);
    if (is_alone || same_values(*first->second, block) || !seen.emplace(What::hidden, variable).second) continue;
    const dc_dataset_t& shown = *first->second;
    add(What::hidden, variable, block.step, hidden_text(*block.variable, {block.source, block.block}, {shown.source, shown.block}),
        warnings);
  }
  return warnings;
}

std::vector<PlaceWarning> PlaceWarnings::hidden(const dc_variable_info_t& variable, std::int64_t step, BlockName lost,
                                                BlockName shown) {
  std::vector<PlaceWarning> warnings;
  add(What::hidden, variable.id, step, hidden_text(variable, lost, shown), warnings);
  return warnings;
}

}  // namespace damaris::hdf5
