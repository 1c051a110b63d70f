/* An action that keeps the server's work side for a while. Used by: bench never-stops, in its server.
 * Before it: a signal in a step. After it: the server's work side, $DAMARIS_BENCH_SLEEP_MS later.
 */
#include <damaris/plugin.h>
#include <stdlib.h>
#include <time.h>

DC_PLUGIN_EXPORT int sleep_a_while(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  (void)event, (void)step, (void)host;
  const char* given = getenv("DAMARIS_BENCH_SLEEP_MS");
  const long ms = given == NULL ? 0 : strtol(given, NULL, 10);
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
  return DC_OK;
}
