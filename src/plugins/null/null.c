/* The template of a plugin: implements the callbacks that most plugins need, stores nothing, and counts its input. Copy it to start your own.
 * Used by: the server's work thread; nothing here runs in a simulation process.
 * Before it: the server's event engine. After it: nothing; a real plugin calls its own library here.
 */
#include <damaris/plugin.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All state between init and finalize lives here, not in globals: two servers may share a process (in place, tests). */
typedef struct null_state_t {
  const dc_host_t* host; /* valid until finalize: no need to copy */
  int64_t report_every;  /* steps between two lines in the log, 0 for none */
  uint64_t steps, events, datasets, bytes;
} null_state_t;

/* Reports the error and returns the code: `return refuse(host, DC_E_CONFIG, "...")`. A message names place, cause and remedy. */
static int refuse(const dc_host_t* host, int code, const char* key, const char* value, const char* remedy) {
  char sentence[256];
  snprintf(sentence, sizeof sentence, "%s=\"%.60s\" is not possible; %s", key, value, remedy);
  host->fail(host->self, sentence);
  return code;
}

/* The settings of the XML element that named the plugin. Refuse unknown settings: if a misspelled one is ignored, it
* seems to work. */
static int read_settings(null_state_t* state) {
  const dc_host_t* host = state->host;
  for (size_t i = 0; i < host->setting_count; ++i) {
    const char* key = host->settings[i].key;
    const char* value = host->settings[i].value;
    char* end = NULL;
    if (strcmp(key, "report-every") != 0) return refuse(host, DC_E_CONFIG, key, value, "the null plugin knows only report-every");
    errno = 0;
    state->report_every = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || state->report_every < 0)
      return refuse(host, DC_E_CONFIG, key, value, "give a whole number of steps, 0 for no report");
  }
  return DC_OK;
}

static void report(const null_state_t* state) {
  char line[160];
  snprintf(line, sizeof line, "null: %" PRIu64 " steps, %" PRIu64 " events, %" PRIu64 " datasets, %" PRIu64 " bytes", state->steps,
           state->events, state->datasets, state->bytes);
  state->host->log(state->host->self, 2, line);
}

/* Before the first client is served. Check here whatever could fail later: an error now costs nothing, one after a day of
* computing costs the day. No other callback follows an error, so free everything here. */
static int null_init(const dc_host_t* host, void** state) {
  null_state_t* made = calloc(1, sizeof *made);
  if (made == NULL) return DC_E_MEMORY;
  made->host = host;
  const int code = read_settings(made);
  if (code == DC_OK) {
    *state = made;
  } else {
    free(made);
  }
  return code;
}

/* For each event that the XML binds to this plugin; `step` may still be open and contains the data received so far. */
static int null_on_event(void* state, const dc_event_t* event, const dc_step_t* step) {
  null_state_t* mine = state;
  (void)event;
  (void)step;
  mine->events += 1;
  return DC_OK;
}

/* For each complete step, in step order. The views are read-only and valid until this returns: copy what you keep.
 * Extents are in C order, the slowest dimension first, also for a Fortran simulation. */
static int null_on_step(void* state, const dc_step_t* step) {
  null_state_t* mine = state;
  for (size_t i = 0; i < step->dataset_count; ++i) mine->bytes += step->datasets[i].bytes;
  mine->datasets += step->dataset_count;
  mine->steps += 1;
  if (mine->report_every > 0 && mine->steps % (uint64_t)mine->report_every == 0) report(mine);
  return DC_OK;
}

/* Once, after the last step. */
static int null_finalize(void* state) {
  report(state);
  free(state);
  return DC_OK;
}

/* The only symbol the server looks for. A callback you do not need may be NULL: here on_message, on_read, on_last_step, on_passed and
 * on_idle. */
DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) {
  static const dc_plugin_t table = {
      DC_PLUGIN_ABI, sizeof(dc_plugin_t), "null", null_init, null_on_event, null_on_step, null_finalize, NULL, NULL, NULL, NULL,
      NULL};
  return &table;
}
