#include "labels.hpp"

#include <damaris/version.h>

#include "attributes.hpp"
#include "utc.hpp"

namespace damaris::hdf5 {
void label_text(hid_t object, const char* name, const char* text) {
  if (text != nullptr && *text != '\0') write_attribute(object, name, std::string(text));
}

namespace {

using Numbers = std::vector<std::int64_t>;

void label_iteration(hid_t object, const dc_iteration_t& iteration) {
  write_attribute(object, "iteration", iteration.step);
  if (iteration.has_time != 0) write_attribute(object, "time", iteration.time);
}

void label_source(hid_t dataset, const dc_dataset_t& block) {
  write_attribute(dataset, "source", block.source);
  write_attribute(dataset, "block", block.block);
}

// Row k of each list tells of part k: whose block it is, where it lies in the global array and how large it is.
void label_parts(hid_t dataset, const Piece& piece) {
  std::vector<std::int32_t> sources, blocks;
  Numbers positions, extents;
  for (const Part& part : piece.parts) {
    sources.push_back(part.block->source);
    blocks.push_back(part.block->block);
    for (int d = 0; d < part.box.ndims; ++d) {
      positions.push_back(part.box.low[d]);
      extents.push_back(part.box.extent(d));
    }
  }
  write_attribute(dataset, "sources", sources);
  write_attribute(dataset, "blocks", blocks);
  write_attribute(dataset, "part_positions", positions, piece.box.ndims);
  write_attribute(dataset, "part_extents", extents, piece.box.ndims);
}

void label_place(hid_t dataset, const Piece& piece) {
  const int ndims = piece.box.ndims;
  const std::int64_t* low = piece.box.low.data();
  const std::int64_t* global = piece.parts.front().block->global;
  if (piece.has_position) write_attribute(dataset, "position", Numbers(low, low + ndims));
  if (piece.variable->has_global != 0) write_attribute(dataset, "global_extents", Numbers(global, global + ndims));
}

}  // namespace

void label_file(hid_t file, const dc_host_t& host, const dc_iteration_t& iteration) {
  write_attribute(file, "format", std::string("damaris-hdf5"));
  write_attribute(file, "format_version", kFormatVersion);
  write_attribute(file, "damaris_version", std::string(DAMARIS_VERSION));
  write_attribute(file, "simulation", std::string(host.simulation));
  write_attribute(file, "created", utc_now());
  label_iteration(file, iteration);
  write_attribute(file, "host", std::string(host.host_name));
  write_attribute(file, "server", host.server_index);
  write_attribute(file, "servers", host.server_count);
  write_attribute(file, "clients", std::vector<std::int32_t>(host.clients, host.clients + host.client_count));
  write_attribute(file, "absent_clients", std::vector<std::int32_t>(iteration.absent, iteration.absent + iteration.absent_count));
  write_attribute(file, "missing_clients",
                  std::vector<std::int32_t>(iteration.missing, iteration.missing + iteration.missing_count));
}

void label_dataset(const Dataset& dataset, const Piece& piece, const dc_iteration_t& iteration) {
  label_text(dataset.id(), "units", piece.variable->unit);
  label_text(dataset.id(), "description", piece.variable->description);
  label_text(dataset.id(), "layout", piece.variable->layout);
  label_iteration(dataset.id(), iteration);
  label_place(dataset.id(), piece);
  if (piece.joined) {
    label_parts(dataset.id(), piece);
  } else {
    label_source(dataset.id(), *piece.parts.front().block);
  }
}

}  // namespace damaris::hdf5
