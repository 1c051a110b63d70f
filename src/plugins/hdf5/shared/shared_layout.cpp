#include "shared_layout.hpp"

#include <damaris/error.hpp>

#include <algorithm>
#include <map>
#include <tuple>

#include "../layout/pieces.hpp"
#include "core/base/box.hpp"
#include "core/base/json.hpp"

namespace damaris::hdf5 {
namespace {

using Numbers = std::vector<std::int64_t>;

// A block as numbers: source, block, whether placed, low corner, extents.
void append(Numbers& row, const OfferedBlock& block) {
  row.insert(row.end(), {block.source, block.block, block.has_position ? 1 : 0});
  for (int d = 0; d < block.box.ndims; ++d) row.push_back(block.box.low[d]);
  for (int d = 0; d < block.box.ndims; ++d) row.push_back(block.box.extent(d));
}

OfferedBlock block_from(const std::int64_t* row, int ndims) {
  OfferedBlock block = {static_cast<std::int32_t>(row[0]), static_cast<std::int32_t>(row[1]), row[2] != 0, {ndims, {}, {}}};
  for (int d = 0; d < ndims; ++d) {
    block.box.low[d] = row[3 + d];
    if (__builtin_add_overflow(row[3 + d], row[3 + ndims + d], &block.box.high[d]))
      throw Error(DC_E_INTERNAL, "another server has a block that ends beyond the range of 64 bits");
  }
  return block;
}

std::vector<OfferedBlock> blocks_from(const Numbers& rows, int ndims) {
  const auto columns = static_cast<std::size_t>(3 + 2 * ndims);
  if (rows.size() % columns != 0) throw Error(DC_E_INTERNAL, "another server's list of blocks is cut off");
  std::vector<OfferedBlock> blocks;
  for (std::size_t at = 0; at < rows.size(); at += columns) blocks.push_back(block_from(rows.data() + at, ndims));
  return blocks;
}

OfferedVariable& variable_of(Offer& offer, const dc_dataset_t& block) {
  const dc_variable_info_t& variable = *block.variable;
  if (offer.variables.empty() || offer.variables.back().id != variable.id) {
    OfferedVariable& added = offer.variables.emplace_back();
    added.id = variable.id;
    if (variable.has_global != 0) added.global.assign(block.global, block.global + variable.ndims);
  }
  return offer.variables.back();
}

}  // namespace

Offer offer_of(const dc_host_t& host, const dc_step_t* step) {
  Offer offer;
  offer.clients.assign(host.clients, host.clients + host.client_count);
  if (step == nullptr) {
    offer.absent = offer.clients;
    return offer;
  }
  offer.absent.assign(step->absent, step->absent + step->absent_count);
  offer.missing.assign(step->missing, step->missing + step->missing_count);
  offer.never_attached = static_cast<std::int64_t>(step->never_attached);
  if (step->has_time != 0) offer.time = step->time;
  for (std::size_t i = 0; i < step->dataset_count; ++i) {
    const dc_dataset_t& block = step->datasets[i];
    variable_of(offer, block).blocks.push_back({block.source, block.block, block.has_position != 0, interior(block)});
  }
  return offer;
}

std::string to_text(const Offer& offer) {
  Json json = {
      {"clients", offer.clients}, {"absent", offer.absent}, {"missing", offer.missing}, {"never_attached", offer.never_attached}};
  if (offer.time) json["time"] = *offer.time;
  std::map<Numbers, std::size_t> known;
  Json lists = Json::array(), variables = Json::array();
  for (const OfferedVariable& variable : offer.variables) {
    Numbers rows;
    for (const OfferedBlock& block : variable.blocks) append(rows, block);
    const auto [place, is_new] = known.emplace(std::move(rows), lists.size());
    if (is_new) lists.push_back(place->first);
    variables.push_back({variable.id, place->second, variable.global});
  }
  json["lists"] = std::move(lists);
  json["variables"] = std::move(variables);
  return text_of(json);
}

Offer offer_from(const std::string& text, const dc_host_t& host) try {
  const Json json = Json::parse(text);
  Offer offer;
  read_value(json.at("clients"), offer.clients);
  read_value(json.at("absent"), offer.absent);
  read_value(json.at("missing"), offer.missing);
  read_value(json.at("never_attached"), offer.never_attached);
  if (json.contains("time")) offer.time = json.at("time").get<double>();
  for (const Json& entry : json.at("variables")) {
    OfferedVariable& variable = offer.variables.emplace_back();
    read_value(entry.at(0), variable.id);
    read_value(entry.at(2), variable.global);
    if (variable.id >= host.variable_count) throw Error(DC_E_INTERNAL, "another server has different variables");
    const int ndims = host.variables[variable.id].ndims;
    if (!variable.global.empty() && variable.global.size() != static_cast<std::size_t>(ndims))
      throw Error(DC_E_INTERNAL, "another server has a variable with different dimensions");
    std::size_t list = 0;
    Numbers rows;
    read_value(entry.at(1), list);
    read_value(json.at("lists").at(list), rows);
    variable.blocks = blocks_from(rows, ndims);
  }
  return offer;
} catch (const Json::exception& error) {
  throw Error(DC_E_INTERNAL, std::string("another server's list of datasets is invalid: ") + error.what());
}

namespace {

// A variable is not joined if the array would be this many times larger than its blocks and its declaration: a single wrong position would
// fill a disk with holes, and make the step fail for the other variables.
constexpr std::int64_t kMaxHoleRatio = 16;

struct MemberBlock {
  int member;
  OfferedBlock block;
};

// A variable in the offers of all members.
struct Offered {
  std::vector<std::int64_t> global;  // the maximum of the offers
  std::vector<MemberBlock> blocks;
};

bool before(const MemberBlock& a, const MemberBlock& b) {
  return std::make_pair(a.block.source, a.block.block) < std::make_pair(b.block.source, b.block.block);
}

void add_global(std::vector<std::int64_t>& global, const std::vector<std::int64_t>& more) {
  if (global.empty()) global = more;
  for (std::size_t d = 0; d < std::min(global.size(), more.size()); ++d) global[d] = std::max(global[d], more[d]);
}

std::map<std::uint32_t, Offered> variables_of(const std::vector<Offer>& offers) {
  std::map<std::uint32_t, Offered> variables;
  for (std::size_t member = 0; member < offers.size(); ++member)
    for (const OfferedVariable& variable : offers[member].variables) {
      Offered& offered = variables[variable.id];
      add_global(offered.global, variable.global);
      for (const OfferedBlock& block : variable.blocks) offered.blocks.push_back({static_cast<int>(member), block});
    }
  for (auto& [id, offered] : variables) std::stable_sort(offered.blocks.begin(), offered.blocks.end(), before);
  return variables;
}

bool can_be_joined(const dc_variable_info_t& variable, const Offered& offered) {
  return variable.ndims > 0 &&
         std::all_of(offered.blocks.begin(), offered.blocks.end(), [](const MemberBlock& one) { return one.block.has_position; });
}

Box declared_box(const Offered& offered) {
  Box declared = {offered.blocks.front().block.box.ndims, {}, {}};
  std::copy(offered.global.begin(), offered.global.end(), declared.high.begin());
  return declared;
}

// The declared array, enlarged if a block lies beyond it.
Box whole_of(const Offered& offered, const std::vector<Box>& blocks) {
  std::vector<Box> boxes;
  for (const Box& box : blocks)
    if (volume(box) > 0) boxes.push_back(box);
  if (!offered.global.empty()) boxes.push_back(declared_box(offered));
  return boxes.empty() ? blocks.front() : bounding_box(boxes);
}

std::vector<Box> boxes_of(const Offered& offered) {
  std::vector<Box> boxes;
  for (const MemberBlock& one : offered.blocks) boxes.push_back(one.block.box);
  return boxes;
}

bool is_scattered(const Offered& offered) {
  const std::vector<Box> boxes = boxes_of(offered);
  std::int64_t meant = 1;
  for (const Box& box : boxes) meant += volume(box);
  if (!offered.global.empty()) meant = std::max(meant, volume(declared_box(offered)));
  return volume(whole_of(offered, boxes)) / kMaxHoleRatio > meant;
}

std::vector<Box> holes_of(const Box& whole, const std::vector<JoinedBox>& joined) {
  std::vector<Box> holes = {whole};
  for (const JoinedBox& one : joined) {
    std::vector<Box> left;
    for (const Box& hole : holes) {
      const std::vector<Box> rest = subtract(hole, one.box);
      left.insert(left.end(), rest.begin(), rest.end());
    }
    holes = std::move(left);
  }
  holes.erase(std::remove_if(holes.begin(), holes.end(), [](const Box& hole) { return volume(hole) == 0; }), holes.end());
  return holes;
}

// If no block has elements, each member still records that it has the variable, as with a file of its own: by its first block, at a place
// within the dataset.
std::vector<SharedPart> parts_without_elements(const Offered& offered, const Box& whole) {
  std::map<int, SharedPart> first;  // by member
  for (const auto& [member, block] : offered.blocks)
    first.insert({member, {member, block.source, block.block, volume(whole) == 0 ? whole : block.box}});
  std::vector<SharedPart> parts;
  for (const auto& [member, part] : first) parts.push_back(part);
  return parts;
}

SharedDataset joined_dataset(const dc_variable_info_t& variable, const Offered& offered) {
  const std::vector<Box> boxes = boxes_of(offered);
  SharedDataset dataset = {variable.path, &variable, true, true, whole_of(offered, boxes), offered.global, {}, {}};
  const std::vector<JoinedBox> joined = join(boxes);
  for (const JoinedBox& box : joined)
    for (const Tile& tile : box.tiles) {
      const MemberBlock& from = offered.blocks[tile.block];
      dataset.parts.push_back({from.member, from.block.source, from.block.block, tile.box});
    }
  if (joined.empty()) dataset.parts = parts_without_elements(offered, dataset.whole);
  dataset.holes = holes_of(dataset.whole, joined);
  return dataset;
}

void add_contests(std::vector<Overlap>& overlaps, const dc_variable_info_t& variable, const Offered& offered) {
  for (const Contest& contest : contests(boxes_of(offered))) {
    const auto part = [&](const MemberBlock& one) {
      return SharedPart{one.member, one.block.source, one.block.block, contest.common};
    };
    overlaps.push_back({&variable, part(offered.blocks[contest.first]), part(offered.blocks[contest.second])});
  }
}

void add_datasets(SharedLayout& layout, const dc_variable_info_t& variable, const Offered& offered) {
  const bool has_places = can_be_joined(variable, offered), scattered = has_places && is_scattered(offered);
  if (has_places && !scattered) {
    add_contests(layout.overlaps, variable, offered);
    return layout.datasets.push_back(joined_dataset(variable, offered));
  }
  if (scattered) layout.scattered.push_back(variable.path);
  for (const MemberBlock& one : offered.blocks)
    layout.datasets.push_back({std::string(variable.path) + "/" + source_name(one.block.source, one.block.block),
                               &variable,
                               false,
                               one.block.has_position,
                               one.block.box,
                               offered.global,
                               {{one.member, one.block.source, one.block.block, one.block.box}},
                               {}});
}

void append_sorted(std::vector<std::int32_t>& into, const std::vector<std::int32_t>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
}

std::vector<const SharedPart*> parts_of(const SharedDataset& dataset, int member) {
  std::vector<const SharedPart*> parts;
  for (const SharedPart& part : dataset.parts)
    if (part.member == member) parts.push_back(&part);
  return parts;
}

std::vector<JoinedBox> joined_parts(const std::vector<const SharedPart*>& parts) {
  std::vector<Box> boxes;
  for (const SharedPart* part : parts) boxes.push_back(part->box);
  return join_or_first(boxes);
}

}  // namespace

const dc_dataset_t& block_of(const dc_variable_info_t& variable, const SharedPart& part, const dc_step_t& step) {
  const auto place = [](const dc_dataset_t& block) { return std::make_tuple(block.variable->id, block.source, block.block); };
  const auto wanted = std::make_tuple(variable.id, part.source, part.block);
  return *std::lower_bound(step.datasets, step.datasets + step.dataset_count, wanted,
                           [&](const dc_dataset_t& block, const auto& key) { return place(block) < key; });
}

SharedLayout shared_layout_of(const std::vector<Offer>& offers, const dc_host_t& host) {
  SharedLayout layout;
  for (const Offer& offer : offers) {
    append_sorted(layout.clients, offer.clients);
    append_sorted(layout.absent, offer.absent);
    append_sorted(layout.missing, offer.missing);
    layout.never_attached += offer.never_attached;
    if (!layout.time) layout.time = offer.time;
  }
  for (const auto& [id, offered] : variables_of(offers)) add_datasets(layout, host.variables[id], offered);
  const auto first = [](const SharedDataset& a, const SharedDataset& b) { return a.variable->priority > b.variable->priority; };
  std::stable_sort(layout.datasets.begin(), layout.datasets.end(), first);
  return layout;
}

std::vector<Box> boxes_of(const SharedDataset& dataset, int member) {
  std::vector<Box> boxes;
  for (const JoinedBox& joined : joined_parts(parts_of(dataset, member))) boxes.push_back(joined.box);
  return boxes;
}

std::vector<Piece> pieces_of(const SharedDataset& dataset, int member, const dc_step_t& step) {
  const std::vector<const SharedPart*> parts = parts_of(dataset, member);
  std::vector<Piece> pieces;
  for (const JoinedBox& joined : joined_parts(parts)) {
    Piece piece = {dataset.path, dataset.variable, dataset.joined, dataset.has_position, joined.box, {}, false};
    for (const Tile& tile : joined.tiles) piece.parts.push_back({&block_of(*dataset.variable, *parts[tile.block], step), tile.box});
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace damaris::hdf5
