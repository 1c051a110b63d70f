#include "place_warnings.hpp"

#include <cstring>

#include "core/base/box.hpp"
#include "memory.hpp"
#include "pieces.hpp"

namespace damaris::hdf5 {
namespace {

// Brick by brick: blocks may be larger than the memory that a server may take.
bool differ(const dc_dataset_t& one, const dc_dataset_t& other, const Box& common) {
  const std::size_t element_bytes = one.variable->element_bytes;
  Staging one_staging, other_staging;
  bool found = false;
  for_each_brick(common, brick_extents(common, element_bytes), [&](const Box& brick) {
    if (found) return;
    const auto values = [&](const dc_dataset_t& block, Staging& staging) {
      return elements_of({"", block.variable, true, true, brick, {{&block, brick}}, false}, brick, staging);
    };
    found = std::memcmp(values(one, one_staging), values(other, other_staging),
                        static_cast<std::size_t>(volume(brick)) * element_bytes) != 0;
  });
  return found;
}

std::string first_hidden(const dc_dataset_t* blocks, const std::vector<Box>& boxes) {
  for (const Contest& contest : contests(boxes)) {
    const dc_dataset_t &shown = blocks[contest.first], &hidden = blocks[contest.second];
    if (differ(shown, hidden, contest.common))
      return hidden_text(*hidden.variable, {hidden.source, hidden.block}, {shown.source, shown.block}, contest.common);
  }
  return "";
}

}  // namespace

std::string hidden_text(const dc_variable_info_t& variable, BlockName hidden, BlockName shown, const Box& common) {
  const auto name = [](BlockName one) {
    return "client " + std::to_string(one.source) + (one.block == 0 ? "" : " (block " + std::to_string(one.block) + ")");
  };
  return "'" + std::string(variable.path) + "': " + name(hidden) + " and " + name(shown) + " both wrote the elements" +
         box_text(common) + "; those of " + name(hidden) +
         " differ and are not stored; check that dc_set_position gives each block its own place";
}

std::vector<std::string> hidden_values(const dc_step_t& step) {
  std::vector<std::string> sentences;
  const dc_dataset_t* const end = step.datasets + step.dataset_count;
  for (const dc_dataset_t* next = step.datasets; next != end;) {
    const dc_dataset_t* const first = next;
    std::vector<Box> boxes;
    bool joined = first->variable->ndims > 0;
    for (; next != end && next->variable->id == first->variable->id; ++next) {
      joined = joined && next->has_position != 0;
      boxes.push_back(interior(*next));
    }
    if (!joined || boxes.size() < 2) continue;
    if (std::string text = first_hidden(first, boxes); !text.empty()) sentences.push_back(std::move(text));
  }
  return sentences;
}

std::vector<std::string> unplaced_blocks(const dc_step_t& step, std::set<std::uint32_t>& reported) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < step.dataset_count; ++i) {
    const dc_dataset_t& block = step.datasets[i];
    const dc_variable_info_t& variable = *block.variable;
    if (variable.has_global == 0 || block.has_position != 0 || block.bytes == 0 || !reported.insert(variable.id).second) continue;
    sentences.push_back(
        "'" + std::string(variable.path) + "' of client " + std::to_string(block.source) +
        " has no position in its global array and is not joined; call dc_set_position for it, or remove 'global' from its "
        "layout '" +
        variable.layout + "'");
  }
  return sentences;
}

}  // namespace damaris::hdf5
