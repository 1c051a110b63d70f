// A variable's values of one rank, as the mini-app's back end library hands them over, and the functions that it calls.
// Used by: the libraries of bench phases, one thread of each rank.
// Before it: a tile with its halo. After it: contiguous values and their place, in C order.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

// What examples/cm1/output/backend_library.f90 looks up. Lists are in the order x, y, z; strides are those of a row and a level.
extern "C" {
void cm1_output_begin(int comm, int output);
void cm1_output_put(const char* name, const float* values, const std::int64_t* strides, const std::int64_t* extent,
                    const std::int64_t* position, const std::int64_t* global);
void cm1_output_end();
void cm1_output_close();
}

namespace damaris::bench {

using Triple = std::array<unsigned long long, 3>;  // z, y, x, as hsize_t

inline Triple in_c_order(const std::int64_t* list) {
  return {static_cast<unsigned long long>(list[2]), static_cast<unsigned long long>(list[1]),
          static_cast<unsigned long long>(list[0])};
}

inline std::uint64_t product(const Triple& extent) { return extent[0] * extent[1] * extent[2]; }

// Leaves the halo out. `to` has room for the product of `extent`.
inline void pack(const float* values, const std::int64_t* strides, const Triple& extent, float* to) {
  for (std::uint64_t z = 0; z < extent[0]; ++z)
    for (std::uint64_t y = 0; y < extent[1]; ++y)
      to = std::copy_n(values + static_cast<std::int64_t>(z) * strides[1] + static_cast<std::int64_t>(y) * strides[0], extent[2],
                       to);
}

inline std::string setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// Ends the run: a benchmark has nothing to save.
[[noreturn]] inline void fail(const std::string& reason) {
  std::fprintf(stderr, "bench phases: %s\n", reason.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace damaris::bench
