/* A plugin for tests that is slow, and fails if a step's data change while it has them.
 * Settings: longest="<ms>" of a sleep; pieces="<number>" of calls that one step takes. The sleeps follow from the step's number.
 * Between two calls of a step (DC_AGAIN or DC_WAIT, in turn) the server may move the data elsewhere, but they stay what they are.
 */
#include <damaris/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long longest_ms = 1, pieces = 1, calls;
static int64_t current = -1; /* the step that `calls` counts for */
static uint64_t sum_at_first;

static int init(const dc_host_t* host, void** state) {
  (void)state;
  current = -1;
  for (size_t i = 0; i < host->setting_count; ++i) {
    if (strcmp(host->settings[i].key, "longest") == 0) longest_ms = strtol(host->settings[i].value, NULL, 10);
    if (strcmp(host->settings[i].key, "pieces") == 0) pieces = strtol(host->settings[i].value, NULL, 10);
  }
  return DC_OK;
}

static void sleep_a_while(int64_t step) {
  const uint64_t drawn = ((uint64_t)step * 2654435761u + (uint64_t)calls * 40503u) % (uint64_t)longest_ms;
  const struct timespec time = {(time_t)(drawn / 1000), (long)(drawn % 1000) * 1000000};
  nanosleep(&time, NULL);
}

static uint64_t sum_of(const dc_step_t* step) {
  uint64_t sum = step->dataset_count;
  for (size_t i = 0; i < step->dataset_count; ++i)
    for (uint64_t b = 0; b < step->datasets[i].bytes; ++b) sum = sum * 31 + ((const unsigned char*)step->datasets[i].data)[b];
  return sum;
}

static int on_step(void* state, const dc_step_t* step) {
  (void)state;
  if (step->step != current) calls = 0;
  current = step->step;
  const uint64_t before = sum_of(step);
  sleep_a_while(step->step);
  const uint64_t sum = sum_of(step);
  if (calls == 0) sum_at_first = sum;
  if (sum != before || sum != sum_at_first) return DC_E_PLUGIN;
  if (++calls < pieces) return calls % 2 == 1 ? DC_AGAIN : DC_WAIT;
  current = -1;
  return DC_OK;
}

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) {
  static const dc_plugin_t plugin = {
      DC_PLUGIN_ABI, sizeof(dc_plugin_t), "sleeping", init, NULL, on_step, NULL, NULL, NULL, NULL, NULL, NULL};
  return &plugin;
}
