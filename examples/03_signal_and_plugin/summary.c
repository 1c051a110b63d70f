/* The plugin: one function, called on the dedicated core, that appends the range of each variable to summary.txt,
 * also to one of an earlier run, so that several servers can share it.
 * It needs nothing but plugin.h and is linked against nothing.
 */
#include <stdio.h>

#include <damaris/plugin.h>

struct range {
  double lowest, highest;
  long count;
};

/* Widens the range by all blocks of one variable; each client sent one. */
static struct range range_of(const dc_variable_info_t* variable, const dc_step_t* step) {
  struct range range = {0};
  for (size_t d = 0; d < step->dataset_count; d++) {
    const dc_dataset_t* dataset = &step->datasets[d];
    const double* values = dataset->data;
    if (dataset->variable->id != variable->id) continue;
    for (uint64_t i = 0; i < dataset->bytes / sizeof *values; i++, range.count++) {
      if (range.count == 0 || values[i] < range.lowest) range.lowest = values[i];
      if (range.count == 0 || values[i] > range.highest) range.highest = values[i];
    }
  }
  return range;
}

int summarize(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  FILE* file = fopen("summary.txt", "a");
  if (file == NULL) {
    host->fail(host->self, "cannot append to summary.txt in the working directory of the run; make the folder writable");
    return DC_E_IO;
  }
  for (size_t v = 0; v < host->variable_count; v++) {
    const dc_variable_info_t* variable = &host->variables[v];
    if (variable->type != DC_FLOAT64) continue;
    const struct range range = range_of(variable, step);
    fprintf(file, "%s step %lld: %s from %g to %g %s in %ld points of %d clients\n", event->name, (long long)event->step,
            variable->name, range.lowest, range.highest, variable->unit, range.count, host->client_count);
  }
  return fclose(file) == 0 ? DC_OK : DC_E_IO;
}
