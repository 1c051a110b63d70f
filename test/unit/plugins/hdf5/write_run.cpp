// Writes a run of three servers with everything a reader of the views may meet into the working directory: storm.h5, storm.xmf and
// the files of the servers. DAMARIS_TEST_STEM is another name than storm.
// Runs as a program of its own, on its main thread; Catch2's macros of its helpers need a case around them.
// Before it: read_run_test.py starts it. After it: h5py, xarray and VTK read the views.
#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "plugins/hdf5/file/new_dataset.hpp"
#include "unit/plugins/hdf5/made_run.hpp"

using namespace damaris::test;

namespace {

constexpr int kServers = 3;
constexpr int kSteps = 4;  // 0, 10, 20, 30

struct Cell {
  std::int32_t level;
  double mass;
};
const dc_field_t kCellFields[] = {{"level", DC_INT32, 1, offsetof(Cell, level)}, {"mass", DC_FLOAT64, 1, offsetof(Cell, mass)}};

struct Typed {
  const char* path;
  dc_type type;
};
constexpr Typed kTypes[] = {{"types/int8", DC_INT8},     {"types/int16", DC_INT16},    {"types/int32", DC_INT32},
                            {"types/int64", DC_INT64},   {"types/uint8", DC_UINT8},    {"types/uint16", DC_UINT16},
                            {"types/uint32", DC_UINT32}, {"types/real32", DC_FLOAT32}, {"types/real64", DC_FLOAT64}};

// All values are netCDF's fill value of the type.
constexpr Typed kFull[] = {{"full/int8", DC_INT8}, {"full/int16", DC_INT16}, {"full/uint8", DC_UINT8}, {"full/uint16", DC_UINT16}};

enum Id : std::uint32_t { kTheta, kRain, kWind, kFitted, kCells, kParticles, kCount, kFaces, kX, kY, kFirstType };

const std::uint32_t kFacesCoordinates[] = {kY, kX};  // of a rectilinear mesh, slowest first

dc_variable_info_t in_16_bits(dc_variable_info_t variable, const char* reduce, bool has_scale) {
  variable.reduction.precision = DC_FLOAT16;
  variable.reduction.has_packing = has_scale ? 1 : 0;
  variable.reduction.scale = 0.125;
  variable.reduction.offset = 10;
  variable.reduce = reduce;
  return variable;
}

std::vector<dc_variable_info_t> make_variables() {
  std::vector<dc_variable_info_t> all;
  const auto add = [&](const char* path, dc_type type, int ndims, const char* layout) -> dc_variable_info_t& {
    all.push_back(variable_info(static_cast<std::uint32_t>(all.size()), path, type, ndims));
    all.back().layout = layout;
    return all.back();
  };
  dc_variable_info_t& theta = add("fields/theta", DC_FLOAT32, 3, "points");
  theta.unit = "K";
  theta.description = "potential temperature";
  theta.has_global = 1;
  add("fields/rain", DC_FLOAT64, 2, "surface").unit = "mm";
  all.push_back(in_16_bits(variable_info(kWind, "fields/wind", DC_FLOAT32, 2), "float16:0.125:10", true));
  all.push_back(in_16_bits(variable_info(kFitted, "fields/fitted", DC_FLOAT32, 2), "float16", false));
  all[kWind].layout = all[kFitted].layout = "surface";
  dc_variable_info_t& cells = add("cells", DC_COMPOUND, 1, "line");
  cells.element_bytes = sizeof(Cell);
  cells.type_name = "cell";
  cells.field_count = 2;
  cells.fields = kCellFields;
  add("particles/all", DC_FLOAT64, 1, "particles");
  add("count", DC_INT64, 1, "scalar");
  dc_variable_info_t& faces = add("mesh/faces", DC_FLOAT32, 2, "plane");
  faces.coordinate_count = 2;
  faces.coordinates = kFacesCoordinates;
  add("places/x", DC_FLOAT64, 1, "line").unit = "m";
  add("places/y", DC_FLOAT32, 1, "line").unit = "km";
  for (const Typed& typed : kTypes) add(typed.path, typed.type, 1, "line");
  for (const Typed& typed : kFull) add(typed.path, typed.type, 1, "line");
  return all;
}

// theta = 1000 step + 100 z + 10 y + x, two rows of y for each server.
void add_theta(Blocks& blocks, const dc_variable_info_t& variable, int server, std::int64_t step) {
  std::vector<float> values;
  for (int z = 0; z < 2; ++z)
    for (int y = 2 * server; y < 2 * server + 2; ++y)
      for (int x = 0; x < 5; ++x) values.push_back(static_cast<float>(1000 * step + 100 * z + 10 * y + x));
  dc_dataset_t& block = blocks.add(variable, server, {2, 2, 5}, values);
  place(block, {0, 2 * server, 0});
  std::copy_n(std::vector<std::int64_t>{2, 2 * kServers, 5}.begin(), 3, block.global);
}

// Two rows for each server of 4 points; the coordinates are written each time, and only the first ones label the dimensions.
void add_mesh(Blocks& blocks, const std::vector<dc_variable_info_t>& variables, int server, std::int64_t step) {
  std::vector<float> values(8);
  for (std::size_t i = 0; i < 8; ++i)
    values[i] = static_cast<float>(step) + 8.0F * static_cast<float>(server) + static_cast<float>(i);
  place(blocks.add(variables[kFaces], server, {2, 4}, values), {2 * server, 0});
  const double shift = 1000.0 * static_cast<double>(step);
  if (server == 0) blocks.add(variables[kX], server, {4}, std::vector<double>{shift, shift + 1, shift + 4, shift + 9});
  const float low = 10.0F * static_cast<float>(server);
  place(blocks.add(variables[kY], server, {2}, std::vector<float>{low, low + 5}), {2 * server});
}

// step + 0.5 y + 0.125 x, two rows for each server.
template <class Value>
void add_surface(Blocks& blocks, const dc_variable_info_t& variable, int server, std::int64_t step) {
  std::vector<Value> values;
  for (int y = 2 * server; y < 2 * server + 2; ++y)
    for (int x = 0; x < 5; ++x) values.push_back(static_cast<Value>(static_cast<double>(step) + 0.5 * y + 0.125 * x));
  place(blocks.add(variable, server, {2, 5}, values), {2 * server, 0});
}

template <class Value>
void add_line(Blocks& blocks, const dc_variable_info_t& variable, int server, std::int64_t step) {
  const auto value = static_cast<Value>(step + 2 * server);
  place(blocks.add(variable, server, {2}, std::vector<Value>{value, static_cast<Value>(value + 1)}), {2 * server});
}

void add_typed(Blocks& blocks, const dc_variable_info_t& variable, int server, std::int64_t step) {
  switch (variable.type) {
    case DC_INT8:
      return add_line<std::int8_t>(blocks, variable, server, step);
    case DC_INT16:
      return add_line<std::int16_t>(blocks, variable, server, step);
    case DC_INT32:
      return add_line<std::int32_t>(blocks, variable, server, step);
    case DC_INT64:
      return add_line<std::int64_t>(blocks, variable, server, step);
    case DC_UINT8:
      return add_line<std::uint8_t>(blocks, variable, server, step);
    case DC_UINT16:
      return add_line<std::uint16_t>(blocks, variable, server, step);
    case DC_UINT32:
      return add_line<std::uint32_t>(blocks, variable, server, step);
    case DC_FLOAT32:
      return add_line<float>(blocks, variable, server, step);
    default:
      return add_line<double>(blocks, variable, server, step);
  }
}

void add_full(Blocks& blocks, const dc_variable_info_t& variable, int server) {
  const std::vector<std::byte> value = damaris::hdf5::fill_of(variable);
  std::vector<std::byte> two = value;
  two.insert(two.end(), value.begin(), value.end());
  place(blocks.add(variable, server, {2}, two), {2 * server});
}

void add_all(Blocks& blocks, const std::vector<dc_variable_info_t>& variables, int server, std::int64_t step) {
  blocks.view().has_time = 1;
  blocks.view().time = 0.25 * static_cast<double>(step);
  add_theta(blocks, variables[kTheta], server, step);
  if (step % 20 == 0) add_surface<double>(blocks, variables[kRain], server, step);
  add_surface<float>(blocks, variables[kWind], server, step);
  add_surface<float>(blocks, variables[kFitted], server, step);
  place(blocks.add(variables[kCells], server, {1}, std::vector<Cell>{{server, 0.5 * static_cast<double>(step)}}), {server});
  blocks.add(variables[kParticles], 2 * server, {2}, std::vector<double>{1.5, 2.5});
  blocks.add(variables[kParticles], 2 * server + 1, {1}, std::vector<double>{3.5});
  blocks.add(variables[kCount], server, {1}, std::vector<std::int64_t>{step + server});
  add_mesh(blocks, variables, server, step);
  std::size_t k = kFirstType;
  for (; k < kFirstType + std::size(kTypes); ++k) add_typed(blocks, variables[k], server, step);
  for (; k < variables.size(); ++k) add_full(blocks, variables[k], server);
}

}  // namespace

TEST_CASE("write") {
  // This program has copies of HDF5's variables, as a simulation may: the library then sets these and not its own (handle.hpp).
  for (const hid_t id : {H5T_C_S1, H5T_NATIVE_INT, H5T_STD_REF_OBJ}) REQUIRE(id > 0);
  const std::vector<dc_variable_info_t> variables = make_variables();
  const char* const stem = std::getenv("DAMARIS_TEST_STEM");
  MadeRun run(std::filesystem::current_path(), kServers, variables, stem == nullptr ? "storm" : stem);
  for (int server = 0; server < kServers; ++server)
    for (int k = 0; k < kSteps; ++k) {
      Blocks blocks(10 * k);
      add_all(blocks, variables, server, 10 * k);
      run.store(server, blocks);
    }
  run.finish();
}
