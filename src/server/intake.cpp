#include "server/intake.hpp"

#include <algorithm>
#include <limits>

#include "core/base/format.hpp"

namespace damaris::server {
namespace {

// A private copy of a block header, which all checks and the view use.
struct Copy {
  const shm::BlockHeader* header;  // for its lists, and what else is read once
  std::uint64_t size_bytes, data_bytes;
  std::int64_t step;
  std::uint32_t magic, state, variable;
  std::int32_t source, block;
  shm::Form form;
  std::uint32_t checksum;
};

Copy copy_of(const shm::BlockHeader& h) {
  return {&h,           h.size_bytes.load(std::memory_order_relaxed),
          h.data_bytes, h.step,
          h.magic,      static_cast<std::uint32_t>(shm::state_of(h)),
          h.variable,   h.source,
          h.block,      {h.ndims, h.flags},
          h.checksum};
}

// Copies the header of the message's block. Returns "" or what is wrong with it.
std::string copy_header(const shm::Region& region, const shm::LaneSpan& span, const shm::Message& message, shm::BlockState expected,
                        Copy& copy) {
  const std::uint64_t offset = message.block_offset;
  if (offset % shm::kLine != 0 || offset < span.arena_offset ||
      offset - span.arena_offset > span.arena_bytes - sizeof(shm::BlockHeader))
    return "it lies outside the client's arena";
  copy = copy_of(*reinterpret_cast<const shm::BlockHeader*>(region.at(offset)));
  const bool is_request = expected == shm::BlockState::requested;
  // The client may have abandoned the read before the server dequeued it.
  const bool is_abandoned = is_request && copy.state == static_cast<std::uint32_t>(shm::BlockState::abandoned);
  const bool is_published = is_abandoned || copy.state == static_cast<std::uint32_t>(expected);
  if (copy.magic != shm::kBlockMagic || !is_published) return "it was not published";
  if (!copy.form.is_valid()) return "invalid block header";
  const std::uint64_t room = span.arena_offset + span.arena_bytes - offset;
  if (copy.size_bytes < shm::header_bytes(copy.form) || copy.size_bytes > room) return "its size is invalid";
  const std::uint64_t inside = copy.size_bytes - shm::header_bytes(copy.form);
  if (copy.data_bytes > inside) return "its size is invalid";
  if (is_request && shm::request_bytes(copy.data_bytes) > inside) return "it has no room for an answer";
  return "";
}

// Of an invalid block, sets only the variable, if there is one.
std::string fill_labels(const Copy& copy, std::int64_t step, std::int32_t source, const VariableInfos& infos,
                        dc_dataset_t& dataset) {
  if (copy.variable >= infos.all().size()) return format("there is no variable {}", copy.variable);
  dataset.variable = &infos.all()[copy.variable];
  if (copy.step != step || copy.source != source || copy.block < 0) return "its step, source or block differ from its message";
  if (copy.form.ndims != dataset.variable->ndims) return "its dimensions are not those of the layout";
  dataset.step = copy.step;
  dataset.source = copy.source;
  dataset.block = copy.block;
  dataset.has_position = copy.form.has(shm::kHasPosition) ? 1 : 0;
  dataset.bytes = copy.data_bytes;
  dataset.has_checksum = copy.form.has(shm::kHasChecksum) ? 1 : 0;
  dataset.checksum = copy.checksum;
  return "";
}

// Whether the block has all elements of its extents, or, for a read, only those between the ghost zones.
enum class Holds { all, interior };

// Checks that extents times element size equal the bytes, ghost zones lie inside, and positions are not negative.
std::string fill_lists(const Copy& copy, dc_dataset_t& dataset, Holds holds = Holds::all) {
  std::uint64_t bytes = dataset.variable->element_bytes;
  const shm::Form form = copy.form;
  const shm::Lists lists(*copy.header, form);
  for (int d = 0; d < form.ndims; ++d) {
    const std::int64_t extent = dataset.extents[d] = lists.extents()[d];
    if (extent < 0) return "its extents are invalid";
    if (form.has(shm::kHasPosition)) dataset.position[d] = lists.position()[d];
    if (form.has(shm::kHasGlobal)) dataset.global[d] = lists.global()[d];
    if (form.has(shm::kHasGhost)) dataset.ghost_low[d] = lists.ghost_low()[d], dataset.ghost_high[d] = lists.ghost_high()[d];
    const std::int64_t interior = extent - dataset.ghost_low[d] - dataset.ghost_high[d];
    if (dataset.position[d] < 0 || dataset.global[d] < 0 || interior < 0) return "its position or ghost zones are invalid";
    const auto held = static_cast<std::uint64_t>(holds == Holds::all ? extent : interior);
    if (__builtin_mul_overflow(bytes, held, &bytes)) return "its extents are invalid";
    if (dataset.position[d] > std::numeric_limits<std::int64_t>::max() - interior) return "its position is invalid";
    const bool has_both = form.has(shm::kHasPosition) && form.has(shm::kHasGlobal);
    if (has_both && dataset.position[d] + interior > dataset.global[d]) return "it reaches beyond its global array";
  }
  return bytes == copy.data_bytes ? "" : "its size does not match its extents";
}

void copy_place(const dc_dataset_t& dataset, dc_read_t& read) {
  read.variable = dataset.variable;
  read.step = dataset.step;
  read.source = dataset.source;
  read.block = dataset.block;
  read.has_position = dataset.has_position;
  for (int d = 0; d < DC_MAX_DIMS; ++d) read.extents[d] = dataset.extents[d] - dataset.ghost_low[d] - dataset.ghost_high[d];
  std::copy_n(dataset.position, DC_MAX_DIMS, read.position);
  std::copy_n(dataset.global, DC_MAX_DIMS, read.global);
  std::copy_n(dataset.ghost_low, DC_MAX_DIMS, read.before);
  std::copy_n(dataset.ghost_high, DC_MAX_DIMS, read.behind);
}

}  // namespace

VariableInfos::VariableInfos(const model::Model& model) {
  for (const model::Compound& compound : model.compounds) {
    std::vector<dc_field_t>& fields = fields_.emplace_back();
    for (const model::Field& field : compound.fields)
      fields.push_back({field.name.c_str(), field.type, field.count, field.offset_bytes});
  }
  for (const model::Variable& variable : model.variables) {
    const model::Layout& layout = model.layouts[variable.layout];
    dc_variable_info_t info = {};
    info.id = variable.id;
    info.name = variable.name.c_str();
    info.path = variable.path.c_str();
    info.layout = layout.name.c_str();
    info.unit = variable.unit.c_str();
    info.description = variable.description.c_str();
    info.type = layout.type;
    info.element_bytes = layout.element_bytes;
    info.type_name = model::type_name(layout.type);
    if (layout.type == DC_COMPOUND) {
      const auto compound = static_cast<std::size_t>(layout.compound);
      info.type_name = model.compounds[compound].name.c_str();
      info.field_count = static_cast<int>(fields_[compound].size());
      info.fields = fields_[compound].data();
    }
    info.ndims = std::max<int>(1, static_cast<int>(layout.dimensions.size()));
    info.fortran_order = layout.fortran_order ? 1 : 0;
    info.has_global = layout.global.empty() ? 0 : 1;
    info.reduction = variable.reduction;
    info.reduce = variable.reduce.c_str();
    info.coordinate_count = static_cast<int>(variable.coordinates.size());
    info.coordinates = variable.coordinates.data();
    info.priority = variable.priority;
    std::copy(variable.chunk.begin(), variable.chunk.end(), info.chunk);
    if (layout.fortran_order) std::reverse(info.chunk, info.chunk + variable.chunk.size());
    infos_.push_back(info);
    if (!variable.reduce_on_full.empty()) {
      info.reduce = variable.reduce_on_full.c_str();
      info.reduction = variable.reduction_on_full;
    }
    on_full_.push_back(info);
  }
}

Intake check_block(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& message,
                   const VariableInfos& infos) {
  Intake intake;
  Copy copy = {};
  intake.fault = copy_header(region, span, message, shm::BlockState::published, copy);
  const bool has_header = copy.magic == shm::kBlockMagic;
  const std::string labels = has_header ? fill_labels(copy, message.step, source, infos, intake.dataset) : "";
  if (intake.fault.empty()) intake.fault = labels;
  if (!intake.fault.empty()) return intake;
  intake.dataset.data = region.at(message.block_offset + shm::header_bytes(copy.form));
  intake.block = {static_cast<std::uint32_t>(span.arena), message.block_offset, copy.size_bytes};
  intake.fault = fill_lists(copy, intake.dataset);
  return intake;
}

Intake check_spilled(const shm::BlockHeader& header, const SpilledBlock& place, const VariableInfos& infos) {
  Intake intake;
  const Copy copy = copy_of(header);
  const bool is_valid = copy.step >= 0 && copy.step <= shm::kHighestStep && copy.source >= 0 && copy.form.is_valid();
  intake.fault =
      is_valid ? fill_labels(copy, copy.step, copy.source, infos, intake.dataset) : "its step, source or lists are invalid";
  if (!intake.fault.empty()) return intake;
  intake.dataset.data = place.data();
  intake.block.spilled = place;
  intake.fault = fill_lists(copy, intake.dataset);
  return intake;
}

AppendedBlock check_append(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& message,
                           std::size_t logs) {
  constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 62;
  AppendedBlock append;
  Copy copy = {};
  append.fault = copy_header(region, span, message, shm::BlockState::published, copy);
  if (copy.header != nullptr) append.offset = static_cast<std::uint64_t>(copy.header->first_list);
  if (append.fault.empty() && !copy.form.is_append()) append.fault = "it is not an append";
  if (append.fault.empty() && copy.variable >= logs) append.fault = format("there is no log {}", copy.variable);
  if (append.fault.empty() && (copy.source != source || copy.data_bytes == 0 || append.offset > kMostOffset))
    append.fault = "its source or its place is invalid";
  if (!append.fault.empty()) return append;
  append.log = copy.variable;
  append.bytes = copy.data_bytes;
  append.data = region.at(message.block_offset + shm::header_bytes(copy.form));
  append.block = {static_cast<std::uint32_t>(span.arena), message.block_offset, copy.size_bytes};
  return append;
}

ReadRequest check_request(const shm::Region& region, const shm::LaneSpan& span, std::int32_t source, const shm::Message& message,
                          const VariableInfos& infos) {
  ReadRequest asked;
  const bool of_step = message.kind == shm::MessageKind::read;
  asked.last_step = message.kind == shm::MessageKind::last_step;
  Copy copy = {};
  dc_dataset_t dataset = {};
  asked.fault = copy_header(region, span, message, shm::BlockState::requested, copy);
  if (asked.fault.empty() && of_step) asked.fault = fill_labels(copy, message.step, source, infos, dataset);
  if (!asked.fault.empty()) return asked;
  asked.block = {static_cast<std::uint32_t>(span.arena), message.block_offset, copy.size_bytes};
  asked.read.data = const_cast<std::byte*>(region.at(message.block_offset + shm::header_bytes(copy.form)));
  asked.read.bytes = copy.data_bytes;
  if (asked.last_step) {
    const bool any = message.name == shm::kAnyVariable;
    if ((!any && message.name >= infos.all().size()) || copy.data_bytes != sizeof(std::int64_t))
      asked.fault = "invalid request for the last step";
    if (asked.fault.empty() && !any) asked.read.variable = &infos.all()[message.name];
    return asked;
  }
  if (!of_step) return asked;
  asked.fault = fill_lists(copy, dataset, Holds::interior);
  copy_place(dataset, asked.read);
  return asked;
}

}  // namespace damaris::server
