/* A plugin for tests: calls Damaris from its callbacks as if it were a client, and writes what it hears to DAMARIS_TEST_LOG.
 * A plugin must not; the calls must be refused, in place as in a server.
 */
#include <damaris/damaris.h>
#include <damaris/plugin.h>
#include <stdio.h>
#include <stdlib.h>

static int on_step(void* state, const dc_step_t* step) {
  static const double values[16] = {0};
  FILE* log = fopen(getenv("DAMARIS_TEST_LOG"), "a");
  (void)state;
  if (log == NULL) return DC_E_PLUGIN;
  fprintf(log, "%d %d", dc_write("x", step->step, values), dc_write("x", step->step + 1, values));
  fprintf(log, " %d %d", dc_end_iteration(step->step), dc_end_iteration(step->step + 1));
  fprintf(log, " %d %d", dc_flush(step->step, 60000), dc_signal("e", step->step + 1));
  fprintf(log, " %d %d", dc_initialize(getenv("DAMARIS_TEST_CONFIG"), 7), dc_finalize());
  fprintf(log, " %s\n", dc_last_error());
  fclose(log);
  return DC_OK;
}

const dc_plugin_t* damaris_plugin(void) {
  static dc_plugin_t table;
  table.abi = DC_PLUGIN_ABI;
  table.name = "caller";
  table.size_bytes = sizeof table;
  table.on_step = on_step;
  return &table;
}
