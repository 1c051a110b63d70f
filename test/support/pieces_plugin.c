/* A plugin for tests that does its work in pieces and talks to itself on other servers.
 * Every server reports each step to server 0 and waits (DC_WAIT) for its answer; then it needs two more calls (DC_AGAIN).
 * With the setting patience="yes" it first waits until the server asks it to urgent.
 * With the setting hold="yes" it also waits for the event "go" before it takes up its first step.
 * With the setting idle="yes" it has a piece to do in on_idle, and another later, until the event "go".
 * With the setting tell_again="yes" it logs when it asks to be called again.
 * At the end every other server takes leave of server 0, which answers after a while.
 * What happens is logged to DAMARIS_TEST_LOG with ".s<server>" appended.
 */
#include <damaris/plugin.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const dc_host_t* the_host;
static int patient, held, reported, answered, pieces, idle_told, idle_work, again_told;

static void log_line(const char* what, int server, int64_t step) {
  char path[4096];
  snprintf(path, sizeof path, "%s.s%d", getenv("DAMARIS_TEST_LOG"), the_host->server_index);
  FILE* log = fopen(path, "a");
  if (log == NULL) return;
  fprintf(log, "%s %d step %" PRId64 "\n", what, server, step);
  fclose(log);
}

static int init(const dc_host_t* host, void** state) {
  (void)state;
  the_host = host;
  patient = held = reported = answered = pieces = idle_told = idle_work = again_told = 0;
  for (size_t i = 0; i < host->setting_count; ++i)
    if (strcmp(host->settings[i].key, "hold") == 0)
      held = 1;
    else if (strcmp(host->settings[i].key, "patience") == 0)
      patient = 1;
    else if (strcmp(host->settings[i].key, "idle") == 0)
      idle_told = idle_work = 1;
    else if (strcmp(host->settings[i].key, "tell_again") == 0)
      again_told = 1;
  return host->send(host->self, host->server_count, "x", 1) == DC_E_ARGUMENT ? DC_OK : DC_E_PLUGIN;
}

static int on_event(void* state, const dc_event_t* event, const dc_step_t* step) {
  (void)state, (void)step;
  log_line("event", the_host->server_index, event->step);
  held = idle_work = 0;
  return DC_OK;
}

static int on_idle(void* state) {
  (void)state;
  if (idle_told) log_line("idle", the_host->server_index, idle_work);
  if (idle_work == 0) return DC_OK;
  return ++idle_work % 2 == 0 ? DC_AGAIN : DC_WAIT;
}

static int on_step(void* state, const dc_step_t* step) {
  (void)state;
  if (held) the_host->waits(the_host->self, "which waits for go");
  if (held || (patient && !step->urgent)) return DC_WAIT;
  if (step->age_s < 0 || step->age_s > 3600) return DC_E_PLUGIN;
  if (!reported) {
    reported = 1;
    return the_host->send(the_host->self, 0, &step->step, sizeof step->step) == DC_OK ? DC_WAIT : DC_E_PLUGIN;
  }
  if (!answered) return DC_WAIT;
  if (++pieces < 3) {
    if (again_told) log_line("again", the_host->server_index, step->step);
    return DC_AGAIN;
  }
  reported = answered = pieces = 0;
  log_line("stored", the_host->server_index, step->step);
  return DC_OK;
}

static int on_passed(void* state, int64_t step) {
  (void)state;
  if (step != INT64_MAX || the_host->server_index == 0) return DC_OK;
  return the_host->send(the_host->self, 0, "bye", 3);
}

/* Server 0 gets steps and answers with a letter; the others, and server 0 too, get the letter. */
static int on_message(void* state, int from, const void* data, uint64_t bytes) {
  (void)state;
  if (bytes == 3 && the_host->server_index == 0) {
    usleep(20000); /* the other may think that everything has been said */
    return the_host->send(the_host->self, from, "bye", 3);
  }
  if (bytes == 3) return log_line("leave of", from, -1), DC_OK;
  if (bytes == 1) return answered = 1, DC_OK;
  int64_t step;
  memcpy(&step, data, sizeof step);
  log_line("report of", from, step);
  return the_host->send(the_host->self, from, "y", 1);
}

static int finalize(void* state) {
  (void)state;
  log_line("finalize", the_host->server_index, -1);
  return DC_OK;
}

DC_PLUGIN_EXPORT const dc_plugin_t* damaris_plugin(void) {
  static const dc_plugin_t plugin = {DC_PLUGIN_ABI, sizeof(dc_plugin_t), "pieces", init, on_event,  on_step,
                                     finalize,      on_message,          NULL,     NULL, on_passed, on_idle};
  return &plugin;
}
