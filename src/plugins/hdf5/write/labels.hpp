// The attributes that describe a file and its datasets.
// Used by: the hdf5 plugin, on the server's work thread.
// Before it: an open file or dataset. After it: new_dataset.hpp. docs/file-format.md lists them.
#pragma once

#include <damaris/plugin.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "../file/handle.hpp"
#include "../layout/pieces.hpp"
#include "manifest/entries.hpp"
#include "precision.hpp"

namespace damaris::hdf5 {

constexpr std::int32_t kFormatVersion = 2;

// Writes no attribute for an empty text.
void label_text(hid_t object, const char* name, const char* text);

// Format and version, program and server.
void label_writer(hid_t file, const dc_host_t& host);
void label_step(hid_t object, std::int64_t step, const std::optional<double>& time);
void label_variable(hid_t dataset, const dc_variable_info_t& variable);

// The parts of a joined dataset. Of part k: source and block (element k of two lists), position in the global array and extents (elements
// from k * ndims on of two others, which are one-dimensional because netCDF-C requires that of attributes).
class PartsTable {
 public:
  explicit PartsTable(int ndims) : ndims_(ndims) {}
  void add(std::int32_t source, std::int32_t block, const Box& box);
  void label(hid_t dataset) const;

 private:
  int ndims_;
  std::vector<std::int32_t> sources_, blocks_;
  std::vector<std::int64_t> positions_, extents_;
};

// Scale, offset and error of a dataset of 16 bits or of rounded values, by the names of the CF conventions where they exist, so that readers
// dequantize. Nothing for exact values, so that h5diff finds no difference from a dataset that is not compressed.
void label_reduction(hid_t dataset, const dc_variable_info_t& variable, const Precision& precision,
                     const std::optional<double>& largest_error);
// The same in the manifest, before the values: `largest_error` is 0 then.
void note_reduction(manifest::DatasetEntry& entry, const char* reduce, const Precision& precision);

void label_file(hid_t file, const dc_host_t& host, const dc_step_t& step);

void label_dataset(const Dataset& dataset, const Piece& piece, const dc_step_t& step);

}  // namespace damaris::hdf5
