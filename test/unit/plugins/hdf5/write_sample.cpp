// Writes a file with everything a reader may meet into the working directory: sample.node7.s3.i42.h5.
// The argument zstd adds a dataset with that filter, which h5dump has not.
// Runs as a program of its own, on its main thread.
// Before it: read_sample_test.py and read_netcdf_test.py start it. After it: h5py, xarray, h5dump and netCDF's tools read the file.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "unit/plugins/hdf5/blocks.hpp"
#include "unit/plugins/loaded_plugin.hpp"

using namespace damaris::test;

namespace {

struct Particle {
  std::int32_t id;
  double velocity[3];
  char kind;
};
const dc_field_t kParticleFields[] = {{"id", DC_INT32, 1, offsetof(Particle, id)},
                                      {"velocity", DC_FLOAT64, 3, offsetof(Particle, velocity)},
                                      {"kind", DC_CHAR, 1, offsetof(Particle, kind)}};

enum Id : std::uint32_t { kTheta, kRain, kCorner, kCount, kParticles, kLabel, kRounded, kHalf, kZstd, kEmpty, kMany, kNumber };

dc_variable_info_t reduced(dc_variable_info_t variable, dc_precision precision, dc_codec codec, const char* reduce) {
  variable.reduction.precision = precision;
  variable.reduction.bound = 0.125;
  variable.reduction.codec = codec;
  variable.reduction.level = 1;
  variable.reduce = reduce;
  return variable;
}

std::vector<dc_variable_info_t> make_variables() {
  dc_variable_info_t theta = variable_info(kTheta, "fields/theta", DC_FLOAT32, 3);
  theta.layout = "tile";
  theta.unit = "K";
  theta.description = "potential temperature \xce\xb8";
  theta.has_global = 1;
  dc_variable_info_t rain = variable_info(kRain, "fields/rain", DC_FLOAT64, 2);
  rain.unit = "kg m-2";
  const dc_variable_info_t corner = variable_info(kCorner, "corner", DC_INT32, 2);
  const dc_variable_info_t count = variable_info(kCount, "count", DC_INT64, 1);
  dc_variable_info_t particles = variable_info(kParticles, "particles/all", DC_COMPOUND, 1);
  particles.element_bytes = sizeof(Particle);
  particles.type_name = "particle";
  particles.field_count = 3;
  particles.fields = kParticleFields;
  const dc_variable_info_t label = variable_info(kLabel, "label", DC_CHAR, 1);
  return {theta,
          rain,
          corner,
          count,
          particles,
          label,
          reduced(variable_info(kRounded, "reduced/rounded", DC_FLOAT32, 1), DC_ROUND_ABSOLUTE, DC_CODEC_DEFLATE, "absolute:0.125"),
          reduced(variable_info(kHalf, "reduced/half", DC_FLOAT64, 1), DC_FLOAT16, DC_CODEC_DEFLATE, "float16,deflate"),
          reduced(variable_info(kZstd, "reduced/zstd", DC_FLOAT32, 1), DC_EXACT, DC_CODEC_ZSTD, "zstd"),
          variable_info(kEmpty, "empty", DC_FLOAT32, 2),
          variable_info(kMany, "many", DC_INT32, 2),
          variable_info(kNumber, "number", DC_FLOAT64, 0)};
}

// Two tiles beside each other in x with a halo of 1: theta = 100 z + 10 y + x.
void add_theta(Blocks& blocks, const dc_variable_info_t& variable) {
  for (int source = 0; source < 2; ++source) {
    std::vector<float> values;
    for (int z = 0; z < 2; ++z)
      for (int y = -1; y < 4; ++y)
        for (int x = -1; x < 4; ++x) values.push_back(static_cast<float>(100 * z + 10 * y + 3 * source + x));
    dc_dataset_t& block = blocks.add(variable, source, {2, 5, 5}, values);
    ghost(block, {0, 1, 1}, {0, 1, 1});
    place(block, {0, 6, 3 * source});
    std::copy_n(std::vector<std::int64_t>{2, 12, 6}.begin(), 3, block.global);
  }
}

void add_corner(Blocks& blocks, const dc_variable_info_t& variable) {
  place(blocks.add(variable, 0, {2, 2}, std::vector<int>{1, 2, 3, 4}), {0, 0});
  place(blocks.add(variable, 1, {2, 2}, std::vector<int>{5, 6, 7, 8}), {0, 2});
  place(blocks.add(variable, 2, {2, 2}, std::vector<int>{9, 10, 11, 12}), {2, 0});
}

// Values that shrink under each filter.
void add_reduced(Blocks& blocks, const std::vector<dc_variable_info_t>& variables, bool zstd) {
  constexpr int kLength = 4096;
  std::vector<float> values(kLength);
  for (int i = 0; i < kLength; ++i) values[static_cast<std::size_t>(i)] = 0.0625F * static_cast<float>(i % 64);
  blocks.add(variables[kRounded], 0, {kLength}, values);
  blocks.add(variables[kHalf], 0, {kLength}, std::vector<double>(values.begin(), values.end()));
  if (zstd) blocks.add(variables[kZstd], 0, {kLength}, values);
}

// So many parts that the lists of them are longer than 64 KiB.
void add_many(Blocks& blocks, const dc_variable_info_t& variable) {
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 100; ++j) place(blocks.add(variable, i, {1, 1}, std::vector<int>{100 * i + j}, j), {i, j});
}

}  // namespace

int main(int arguments, char** argument) {
  const std::vector<dc_variable_info_t> variables = make_variables();
  const FakeHost host(Settings{{"basename", "sample"}, {"filters", "shuffle,deflate:1"}}, variables);
  RunningPlugin plugin("hdf5", host);
  Blocks blocks(42);
  blocks.view().has_time = 1;
  blocks.view().time = 7.5;
  add_theta(blocks, variables[kTheta]);
  blocks.add(variables[kRain], 0, {2, 2}, std::vector<double>{0.5, 1.5, 2.5, 3.5});
  blocks.add(variables[kRain], 1, {2, 1}, std::vector<double>{4.5, 5.5});
  add_corner(blocks, variables[kCorner]);
  for (int source = 0; source < 3; ++source) blocks.add(variables[kCount], source, {1}, std::vector<std::int64_t>{1000 + source});
  blocks.add(variables[kParticles], 1, {2}, std::vector<Particle>{{1, {1, 2, 3}, 'a'}, {-2, {4, 5, 6}, 'b'}});
  blocks.add(variables[kLabel], 0, {5}, std::vector<char>{'s', 't', 'o', 'r', 'm'});
  add_reduced(blocks, variables, arguments > 1 && std::strcmp(argument[1], "zstd") == 0);
  blocks.add(variables[kEmpty], 0, {0, 3}, std::vector<float>{});
  add_many(blocks, variables[kMany]);
  blocks.add(variables[kNumber], 2, {}, std::vector<double>{2.5});
  const std::vector<std::uint32_t> skipped = {kRain, kLabel};
  blocks.view().skipped = skipped.data();
  blocks.view().skipped_count = skipped.size();
  if (plugin.init_code == DC_OK && plugin.on_step(blocks.view()) == DC_OK) return 0;
  std::fprintf(stderr, "%s\n", host.failure.c_str());
  return 1;
}
