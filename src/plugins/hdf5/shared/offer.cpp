#include "offer.hpp"

#include <damaris/error.hpp>

#include <map>

#include "../layout/pieces.hpp"
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

}  // namespace damaris::hdf5
