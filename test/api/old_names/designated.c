/* The table of an earlier version's plugin by designated initializers, with all of -Wall.
 * Used by: old_names.sh. */
#include <damaris/plugin.h>

static int on_iteration(void* state, const dc_step_t* step) {
  (void)state;
  return step->step < 0 ? DC_E_PLUGIN : DC_OK;
}

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) {
  static const dc_plugin_t table = {.abi = DC_PLUGIN_ABI, .size_bytes = sizeof(dc_plugin_t), .on_iteration = on_iteration};
  return &table;
}
