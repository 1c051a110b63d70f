/* A stand-in for libdamaris that writes down what it was called with.
 * Used by: the tests of argument passing from Fortran and C++, in one process on one thread; the rest of the suite uses the real library.
 * Before it: module damaris or damaris.hpp. After it: the assertions, which read `recorded` and set `answer`.
 */
#pragma once

#include <damaris/damaris.h>

struct record {
  char function[32];
  char name[64];
  int64_t step, value;
  int32_t block;
  int type, ndims;
  int64_t extents[16], strides[16];
  const void* address;
};

/* What the next calls return. */
struct answer {
  int code;
  dc_layout_t layout;
  void* block;
  int64_t parameter;
};

#ifdef __cplusplus
extern "C" {
#endif

extern struct record recorded;
extern struct answer answer;

#ifdef __cplusplus
}
#endif
