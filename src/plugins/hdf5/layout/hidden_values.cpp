#include "hidden_values.hpp"

#include <cstring>

#include "core/base/overlaps.hpp"
#include "gather.hpp"
#include "pieces.hpp"

namespace damaris::hdf5 {
namespace {

bool differ(const dc_dataset_t& one, const dc_dataset_t& other, const Box& common) {
  Staging one_staging, other_staging;
  const auto values = [&](const dc_dataset_t& block, Staging& staging) {
    return elements_of({"", block.variable, true, true, common, {{&block, common}}, false}, common, staging);
  };
  const std::size_t bytes = static_cast<std::size_t>(volume(common)) * one.variable->element_bytes;
  return std::memcmp(values(one, one_staging), values(other, other_staging), bytes) != 0;
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

}  // namespace damaris::hdf5
