/* Hands every complete step to the fuzz target that loaded it. */
#include <damaris/plugin.h>

DC_PLUGIN_EXPORT void (*fuzz_step)(const dc_step_t*);

static int on_step(void* state, const dc_step_t* step) {
  (void)state;
  if (fuzz_step) fuzz_step(step);
  return DC_OK;
}

static const dc_plugin_t table = {.abi = DC_PLUGIN_ABI, .size_bytes = sizeof table, .name = "fuzz", .on_step = on_step};

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) { return &table; }
