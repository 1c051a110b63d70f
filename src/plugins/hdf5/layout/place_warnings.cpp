#include "place_warnings.hpp"

namespace damaris::hdf5 {

std::vector<PlaceWarning> PlaceWarnings::of(const dc_step_t& step) {
  std::vector<PlaceWarning> warnings;
  std::int64_t last = -1;  // the variable that was looked at last
  for (std::size_t i = 0; i < step.dataset_count; ++i) {
    const dc_dataset_t& block = step.datasets[i];
    const dc_variable_info_t& variable = *block.variable;
    if (variable.has_global == 0 || block.has_position != 0 || block.bytes == 0 || variable.id == last) continue;
    last = variable.id;
    const auto [said, is_new] = reported_.emplace(variable.id, block.step);
    if (said->second != block.step) continue;
    warnings.push_back({"'" + std::string(variable.path) + "' of client " + std::to_string(block.source) +
                            " has no position in its global array and is not joined; call dc_set_position for it, or remove "
                            "'global' from its layout '" +
                            variable.layout + "'",
                        is_new});
  }
  return warnings;
}

}  // namespace damaris::hdf5
