/* A plugin as it was written for an earlier version, with the names of that time.
 * Used by: old_names.sh, which compiles it as C and as C++. */
#include <damaris/plugin.h>

static int store(void* state, const dc_iteration_t* iteration) {
  (void)state;
  return iteration->hurry ? DC_OK : DC_WAIT;
}

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) {
  static dc_plugin_t table;
  table.abi = DC_PLUGIN_ABI;
  table.size_bytes = sizeof table;
  table.on_iteration = store;
  return &table;
}
