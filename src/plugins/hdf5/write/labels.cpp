#include "labels.hpp"

#include <damaris/version.h>

#include "../file/new_dataset.hpp"
#include "core/base/clock.hpp"

namespace damaris::hdf5 {
void label_text(hid_t object, const char* name, const char* text) {
  if (text != nullptr && *text != '\0') write_attribute(object, name, std::string(text));
}

namespace {

using Numbers = std::vector<std::int64_t>;

std::optional<double> time_of(const dc_step_t& step) {
  return step.has_time != 0 ? std::optional<double>(step.time) : std::nullopt;
}

void label_source(hid_t dataset, const dc_dataset_t& block) {
  write_attribute(dataset, "source", block.source);
  write_attribute(dataset, "block", block.block);
}

void label_parts(hid_t dataset, const Piece& piece) {
  PartsTable table(piece.box.ndims);
  for (const Part& part : piece.parts) table.add(part.block->source, part.block->block, part.box);
  table.label(dataset);
}

void label_stack(hid_t dataset, const Piece& piece) {
  std::vector<std::int32_t> sources, blocks;
  for (const Part& part : piece.parts) {
    sources.push_back(part.block->source);
    blocks.push_back(part.block->block);
  }
  write_attribute(dataset, "sources", sources);
  write_attribute(dataset, "blocks", blocks);
  write_attribute(dataset, "stacked", std::int32_t{1});
}

void label_place(hid_t dataset, const Piece& piece) {
  const int ndims = piece.variable->ndims;
  const std::int64_t* low = piece.box.low.data();
  const std::int64_t* global = piece.parts.front().block->global;
  if (piece.has_position) write_attribute(dataset, "position", Numbers(low, low + ndims));
  if (piece.variable->has_global != 0) write_attribute(dataset, "global_extents", Numbers(global, global + ndims));
}

// The effects of back-pressure on this file, if there were any.
void label_back_pressure(hid_t file, const dc_host_t& host, const dc_step_t& step) {
  std::vector<std::string> variables;
  for (std::size_t i = 0; i < step.skipped_count; ++i) variables.emplace_back(host.variables[step.skipped[i]].path);
  if (!variables.empty()) write_attribute(file, step.dropped != 0 ? "dropped_variables" : "skipped_variables", variables);
  if (step.reduced != 0) write_attribute(file, "reduced_on_full", std::int32_t{1});
}

}  // namespace

void label_step(hid_t object, std::int64_t step, const std::optional<double>& time) {
  write_attribute(object, "iteration", step);
  if (time) write_attribute(object, "time", *time);
}

void PartsTable::add(std::int32_t source, std::int32_t block, const Box& box) {
  sources_.push_back(source);
  blocks_.push_back(block);
  for (int d = 0; d < ndims_; ++d) {
    positions_.push_back(box.low[d]);
    extents_.push_back(box.extent(d));
  }
}

void PartsTable::label(hid_t dataset) const {
  write_attribute(dataset, "sources", sources_);
  write_attribute(dataset, "blocks", blocks_);
  write_attribute(dataset, "part_positions", positions_);
  write_attribute(dataset, "part_extents", extents_);
}

void label_writer(hid_t file, const dc_host_t& host) {
  write_attribute(file, "format", std::string("damaris-hdf5"));
  write_attribute(file, "format_version", kFormatVersion);
  write_attribute(file, "damaris_version", std::string(DAMARIS_VERSION));
  write_attribute(file, "simulation", std::string(host.simulation));
  write_attribute(file, "created", utc_now());
  write_attribute(file, "host", std::string(host.host_name));
  write_attribute(file, "server", host.server_index);
  write_attribute(file, "servers", host.server_count);
}

void label_file(hid_t file, const dc_host_t& host, const dc_step_t& step) {
  label_writer(file, host);
  label_step(file, step.step, time_of(step));
  write_attribute(file, "clients", std::vector<std::int32_t>(host.clients, host.clients + host.client_count));
  write_attribute(file, "absent_clients", std::vector<std::int32_t>(step.absent, step.absent + step.absent_count));
  write_attribute(file, "missing_clients", std::vector<std::int32_t>(step.missing, step.missing + step.missing_count));
  write_attribute(file, "never_attached", static_cast<std::int64_t>(step.never_attached));
  label_back_pressure(file, host, step);
}

void label_variable(hid_t dataset, const dc_variable_info_t& variable) {
  label_text(dataset, "units", variable.unit);
  label_text(dataset, "long_name", variable.description);
  label_text(dataset, "layout", variable.layout);
}

void label_dataset(const Dataset& dataset, const Piece& piece, const dc_step_t& step) {
  label_variable(dataset.id(), *piece.variable);
  label_step(dataset.id(), step.step, time_of(step));
  label_place(dataset.id(), piece);
  if (piece.joined) {
    label_parts(dataset.id(), piece);
  } else if (piece.stacked) {
    label_stack(dataset.id(), piece);
  } else {
    label_source(dataset.id(), *piece.parts.front().block);
  }
}

}  // namespace damaris::hdf5
