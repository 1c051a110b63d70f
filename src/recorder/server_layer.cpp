// The layer server: no wrappers, but calls of which Damaris's server tells, and the blocks of clients that they are about.
#include "recorder/server_layer.hpp"

#include <cstdio>
#include <cstring>

#include "recorder/handles.hpp"
#include "recorder/objects.hpp"
#include "recorder/server_calls.hpp"
#include "trace/region.hpp"

using namespace damaris;
using namespace damaris::recorder;

namespace {

Handles<> objects_of_regions;
const Forgetting forgetting{[] { objects_of_regions.forget(); }};

int client = -1;    // of this process; -1: it is none
std::uint32_t run;  // of the simulation

std::uint32_t object_of(const trace::Region& region) {
  char text[1024], plain[512];
  copy_plain(plain, sizeof plain, region.name);
  std::snprintf(text, sizeof text, "kind=%s\nname=%s\n", region.kind, plain);
  const std::uint64_t hash = hash_of(text);
  const std::uint32_t known = objects_of_regions.get(hash);
  return known != 0 ? known : objects_of_regions.put(hash, described(text));
}

std::uint16_t number_of(const char* call) {
  for (const ServerCall& one : kServerCalls)
    if (std::strcmp(one.name, call) == 0) return one.number;
  return 0;
}

}  // namespace

void damaris::recorder::tell_block(const Call& call, std::int32_t block, std::uint64_t bytes) {
  if (client >= 0 && bytes > 0) call.add(trace::of_block, bytes, 0, trace::message(client, block), 0, run);
}

extern "C" {

__attribute__((visibility("default"))) void damaris_recorder_client_2(int id, std::uint64_t of_run) {
  client = id;
  run = static_cast<std::uint32_t>(of_run ^ of_run >> 32);
}

__attribute__((visibility("default"))) int damaris_recorder_region_1(const trace::Region* region, int (*body)(void*),
                                                                     void* argument) {
  const std::uint16_t number = number_of(region->call);
  Call call;
  if (number == 0 || !call.enter(__builtin_frame_address(0), true)) return body(argument);
  std::uint32_t object = 0;
  call.look([&] { object = object_of(*region); });
  call.begin();
  const int result = body(argument);
  call.returned(result < 0, result);
  call.write(number, object, call.failed ? 0 : region->bytes, region->step);
  for (std::size_t i = 0; i < region->block_count; ++i)
    call.add(trace::of_block, region->blocks[i].bytes, 0, trace::message(region->blocks[i].source, region->blocks[i].block), 0,
             run);
  call.end();
  return result;
}
}
