/* The plugin of the paper's example: tells what it was given in my_result.txt.
 * Used by: the detached server, on its work thread.
 * Before it: my_event. After it: paper_test reads the file.
 */
#include <stdio.h>

#include <damaris/plugin.h>

/* The number of elements that are not what the program put at their place. */
static long wrong_elements(const float* data) {
  long wrong = 0;
  for (int k = 0; k < 2; k++)
    for (int j = 0; j < 16; j++)
      for (int i = 0; i < 64; i++) wrong += *data++ != (float)(i + 1 + 100 * (j + 1) + 10000 * (k + 1));
  return wrong;
}

int do_something(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  FILE* file = fopen("my_result.txt", "a");
  (void)host;
  if (file == NULL) return DC_E_IO;
  fprintf(file, "event %s step %lld scope %d complete %d\n", event->name, (long long)event->step, (int)event->scope,
          step->complete);
  for (size_t d = 0; d < step->dataset_count; d++) {
    const dc_dataset_t* dataset = &step->datasets[d];
    const int as_expected = dataset->variable->type == DC_FLOAT32 && dataset->bytes == 64 * 16 * 2 * sizeof(float);
    fprintf(file, "data %s step %lld source %d extents %lldx%lldx%lld wrong %ld\n", dataset->variable->name,
            (long long)dataset->step, (int)dataset->source, (long long)dataset->extents[0], (long long)dataset->extents[1],
            (long long)dataset->extents[2], as_expected ? wrong_elements(dataset->data) : -1);
  }
  return fclose(file) == 0 ? DC_OK : DC_E_IO;
}
