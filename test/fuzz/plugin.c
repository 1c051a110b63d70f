/* Hands every complete iteration to the fuzz target that loaded it. */
#include <damaris/plugin.h>

DC_PLUGIN_EXPORT void (*fuzz_iteration)(const dc_iteration_t*);

static int on_iteration(void* state, const dc_iteration_t* iteration) {
  (void)state;
  if (fuzz_iteration) fuzz_iteration(iteration);
  return DC_OK;
}

static const dc_plugin_t table = {.abi = DC_PLUGIN_ABI, .size_bytes = sizeof table, .name = "fuzz", .on_iteration = on_iteration};

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) { return &table; }
