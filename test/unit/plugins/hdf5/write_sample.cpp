// Writes a file with everything a reader may meet into the working directory: sample.node7.s3.i42.h5.
// Runs as a program of its own, on its main thread.
// Before it: read_sample_test.py starts it. After it: h5py, xarray and h5dump read the file.
#include <cstddef>
#include <cstdio>
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

std::vector<dc_variable_info_t> make_variables() {
  dc_variable_info_t theta = variable_info(0, "fields/theta", DC_FLOAT32, 3);
  theta.layout = "tile";
  theta.unit = "K";
  theta.description = "potential temperature \xce\xb8";
  theta.has_global = 1;
  dc_variable_info_t rain = variable_info(1, "fields/rain", DC_FLOAT64, 2);
  rain.unit = "kg m-2";
  const dc_variable_info_t corner = variable_info(2, "corner", DC_INT32, 2);
  const dc_variable_info_t count = variable_info(3, "count", DC_INT64, 1);
  dc_variable_info_t particles = variable_info(4, "particles/all", DC_COMPOUND, 1);
  particles.element_bytes = sizeof(Particle);
  particles.type_name = "particle";
  particles.field_count = 3;
  particles.fields = kParticleFields;
  const dc_variable_info_t label = variable_info(5, "label", DC_CHAR, 1);
  return {theta, rain, corner, count, particles, label};
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

}  // namespace

int main() {
  const std::vector<dc_variable_info_t> variables = make_variables();
  const FakeHost host(Settings{{"basename", "sample"}, {"filters", "shuffle,deflate:1"}}, variables);
  RunningPlugin plugin("hdf5", host);
  Blocks blocks(42);
  blocks.view().has_time = 1;
  blocks.view().time = 7.5;
  add_theta(blocks, variables[0]);
  blocks.add(variables[1], 0, {2, 2}, std::vector<double>{0.5, 1.5, 2.5, 3.5});
  blocks.add(variables[1], 1, {2, 1}, std::vector<double>{4.5, 5.5});
  add_corner(blocks, variables[2]);
  for (int source = 0; source < 3; ++source) blocks.add(variables[3], source, {1}, std::vector<std::int64_t>{1000 + source});
  blocks.add(variables[4], 1, {2}, std::vector<Particle>{{1, {1, 2, 3}, 'a'}, {-2, {4, 5, 6}, 'b'}});
  blocks.add(variables[5], 0, {5}, std::vector<char>{'s', 't', 'o', 'r', 'm'});
  if (plugin.init_code == DC_OK && plugin.on_iteration(blocks.view()) == DC_OK) return 0;
  std::fprintf(stderr, "%s\n", host.failure.c_str());
  return 1;
}
