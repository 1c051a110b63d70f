/* An outside plugin of one function: counts what the step holds so far and writes it to a file. */
#include <damaris/plugin.h>
#include <stdio.h>

int count_datasets(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  (void)host;
  FILE* file = fopen("counted.txt", "a");
  if (file == NULL) return DC_E_IO;
  fprintf(file, "%s step %lld: %zu datasets, first value %g\n", event->name, (long long)event->step, step->dataset_count,
          ((const double*)step->datasets[0].data)[0]);
  return fclose(file) == 0 ? DC_OK : DC_E_IO;
}
