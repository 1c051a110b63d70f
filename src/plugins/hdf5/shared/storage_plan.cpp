#include "storage_plan.hpp"

#include <algorithm>

#include "../write/chunk_codec.hpp"
#include "chunk_grid.hpp"
#include "core/base/json_bytes.hpp"

namespace damaris::hdf5 {
namespace {

using Range = codec::Range<double>;

bool has_values(const SharedDataset& dataset) { return volume(dataset.whole) > 0; }

// 16 bits need a scale, which depends on the values of all members.
bool needs_range(const SharedDataset& dataset) {
  return has_values(dataset) && dataset.variable->reduction.precision == DC_FLOAT16;
}

Json range_of_member(const SharedDataset& dataset, int member, const dc_step_t* step, Staging& staging) {
  Range range;
  if (step != nullptr)
    for (const Piece& piece : pieces_of(dataset, member, *step)) range = codec::merged(range, range_of_reals(piece, staging));
  return range.finite ? Json{range.min, range.max} : Json(nullptr);
}

Range range_from(const Json& json) {
  return json.is_null() ? Range() : Range{json.at(0).get<double>(), json.at(1).get<double>(), true};
}

// Of the dataset number `place` among those that need a range.
Range range_of_all(const std::vector<Json>& of_members, std::size_t place) {
  Range range;
  for (const Json& of_member : of_members) range = codec::merged(range, range_from(of_member.at(place)));
  return range;
}

Json decision_on(const SharedDataset& dataset, const Range& range, Float16Scales& scales) {
  try {
    const Precision precision = plan_precision(*dataset.variable, dataset.path, range, scales);
    return {{"scale", precision.scaling.scale}, {"offset", precision.scaling.offset}, {"overflows", precision.overflows}};
  } catch (const Refused& refused) {
    return {{"refused", refused.sentence()}};
  }
}

void follow(const Json& decision, Precision& precision) {
  precision.scaling = {decision.at("scale").get<double>(), decision.at("offset").get<double>()};
  precision.overflows = decision.at("overflows").get<bool>();
  precision.kind = precision.overflows ? DC_EXACT : DC_FLOAT16;
  if (!precision.overflows) precision.element_bytes = sizeof(codec::Half);
}

// Of 16 bits the scale follows.
Precision precision_of(const SharedDataset& dataset) {
  Float16Scales none;
  return plan_precision(*dataset.variable, dataset.path, {}, none);
}

bool is_of(const SharedDataset& dataset, int member) {
  return std::any_of(dataset.parts.begin(), dataset.parts.end(), [&](const SharedPart& part) { return part.member == member; });
}

}  // namespace

void StoragePlan::apply(SharedLayout& layout, const dc_step_t* step, Staging& staging) {
  refused_.clear();
  for (SharedDataset& dataset : layout.datasets) dataset.precision = precision_of(dataset);
  if (std::any_of(layout.datasets.begin(), layout.datasets.end(), needs_range)) agree_on_16_bits(layout, step, staging);
  for (SharedDataset& dataset : layout.datasets) choose_chunks(dataset);
}

void StoragePlan::choose_chunks(SharedDataset& dataset) const {
  if (dataset.whole.ndims == 0 || !has_values(dataset)) return;
  dataset.codec = codec_of(dataset.variable->reduction, filters_);
  if (dataset.codec.encodes() || dataset.variable->chunk[0] > 0) dataset.chunk = grid_of(dataset, team_.size(), codec_bytes_);
}

void StoragePlan::agree_on_16_bits(SharedLayout& layout, const dc_step_t* step, Staging& staging) {
  const std::vector<std::string> texts = team_.run_on_all([&] {
    Json mine = Json::array();
    for (const SharedDataset& dataset : layout.datasets)
      if (needs_range(dataset)) mine.push_back(range_of_member(dataset, team_.member(), step, staging));
    return text_of(mine);
  });
  const Json decisions = parse_with_bytes(team_.run_on_leader([&] {
    std::vector<Json> ranges;
    for (const std::string& text : texts) ranges.push_back(Json::parse(text));
    Json made = Json::array();
    for (const SharedDataset& dataset : layout.datasets)
      if (needs_range(dataset)) made.push_back(decision_on(dataset, range_of_all(ranges, made.size()), scales_));
    return text_with_bytes_of(made);
  }));
  std::vector<SharedDataset> kept;
  std::string last_refusal;
  std::size_t next = 0;
  for (SharedDataset& dataset : layout.datasets) {
    const Json* const decision = needs_range(dataset) ? &decisions.at(next++) : nullptr;
    if (decision != nullptr && decision->contains("refused")) {
      last_refusal = decision->at("refused").get<std::string>();
      if (is_of(dataset, team_.member())) refused_.push_back(last_refusal);
      continue;
    }
    if (decision != nullptr) follow(*decision, dataset.precision);
    kept.push_back(std::move(dataset));
  }
  layout.datasets = std::move(kept);
  if (layout.datasets.empty()) throw Refused(last_refusal);
}

}  // namespace damaris::hdf5
