/* A plugin for tests: writes one line for each callback, so that a test can read what a server did.
 * File: the environment variable DAMARIS_TEST_LOG, with ".s<server>" appended; nothing is written without it.
 * Settings: fail_at="<step>" fails on_step of that step, "end" fails finalize; refuse="yes" fails init; refuse_on="<server>"
 * fails it on that server only; hold_at="end" holds finalize as the action `hold` does.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <damaris/plugin.h>
#include <fenv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const dc_host_t* the_host;
static long fail_at = -1;
static int fails_at_end, holds_at_end;

static FILE* open_log(const dc_host_t* host) {
  const char* base = getenv("DAMARIS_TEST_LOG");
  char path[4096];
  if (base == NULL) return NULL;
  snprintf(path, sizeof path, "%s.s%d", base, host->server_index);
  return fopen(path, "a");
}

static double sum_of(const dc_dataset_t* dataset) {
  double sum = 0;
  const uint64_t count = dataset->bytes / dataset->variable->element_bytes;
  for (uint64_t i = 0; i < count; ++i) {
    if (dataset->variable->type == DC_FLOAT64) sum += ((const double*)dataset->data)[i];
    if (dataset->variable->type == DC_FLOAT32) sum += ((const float*)dataset->data)[i];
    if (dataset->variable->type == DC_INT32) sum += ((const int32_t*)dataset->data)[i];
  }
  return sum;
}

static void list_datasets(FILE* log, const dc_step_t* step) {
  for (size_t i = 0; i < step->dataset_count; ++i) {
    const dc_dataset_t* d = &step->datasets[i];
    fprintf(log, " %s:%d.%d=%" PRIu64 ":%g", d->variable->path, (int)d->source, (int)d->block, d->bytes, sum_of(d));
  }
}

static void list_ladder(FILE* log, const dc_step_t* step) {
  for (size_t i = 0; i < step->skipped_count; ++i)
    fprintf(log, " %s:%s", step->dropped ? "dropped" : "skipped", the_host->variables[step->skipped[i]].path);
  if (step->skipped_count > 0) fprintf(log, " waits:%" PRIu64, step->waits);
  size_t sums = 0;
  for (size_t i = 0; i < step->dataset_count; ++i) sums += step->datasets[i].has_checksum != 0;
  if (step->spilled_bytes > 0) fprintf(log, " spilled:%" PRIu64 " with %zu checksums", step->spilled_bytes, sums);
  for (size_t i = 0; i < step->dataset_count && step->reduced; ++i)
    fprintf(log, " %s as %s", step->datasets[i].variable->path, step->datasets[i].variable->reduce);
}

static void log_event(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  static const char* const scopes[] = {"core", "node", "global"};
  FILE* log = open_log(host);
  if (log == NULL) return;
  fprintf(log, "event %s step %" PRId64 " scope %s source %d instance %u order %" PRIu64 " datasets %zu", event->name, event->step,
          scopes[event->scope], (int)event->source, (unsigned)event->instance, event->order, step->dataset_count);
  list_datasets(log, step);
  fprintf(log, "\n");
  fclose(log);
}

/* The one-function form. */
int record(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  log_event(event, step, host);
  return DC_OK;
}

int fail_always(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  log_event(event, step, host);
  host->fail(host->self, "it was asked to fail");
  return DC_E_PLUGIN;
}

/* Until the file $DAMARIS_TEST_LOG.go exists, at most a minute. */
static void wait_for_go(void) {
  char path[4096];
  const struct timespec moment = {0, 1000000};
  snprintf(path, sizeof path, "%s.go", getenv("DAMARIS_TEST_LOG"));
  for (int tries = 0; tries < 60000 && access(path, F_OK) != 0; ++tries) nanosleep(&moment, NULL);
}

/* Holds the server. */
int hold(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  (void)event, (void)step, (void)host;
  wait_for_go();
  return DC_OK;
}

/* Takes 256 MiB, and gives them back where nobody minds. */
int take_memory(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  const size_t bytes = (size_t)256 << 20;
  volatile char* memory = malloc(bytes);
  (void)event, (void)step, (void)host;
  for (size_t at = 0; memory != NULL && at < bytes; at += 4096) memory[at] = 1;
  free((void*)memory);
  return DC_OK;
}

/* Writes how it finds numbers rounded, and leaves them rounded upwards. */
int round_upwards(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  FILE* log = open_log(host);
  (void)event, (void)step;
  if (log == NULL) return DC_E_PLUGIN;
  fprintf(log, "rounding %d\n", fegetround());
  fclose(log);
  return fesetround(FE_UPWARD) == 0 ? DC_OK : DC_E_PLUGIN;
}

/* From then on a division by zero, an invalid operation, and every rounding, is a signal. */
int enable_traps(const dc_event_t* event, const dc_step_t* step, const dc_host_t* host) {
  FILE* log = open_log(host);
  (void)event, (void)step;
  if (log == NULL) return DC_E_PLUGIN;
  fprintf(log, "traps\n");
  fclose(log);
  return feenableexcept(FE_ALL_EXCEPT) < 0 ? DC_E_PLUGIN : DC_OK;
}

static int init(const dc_host_t* host, void** state) {
  the_host = host;
  *state = NULL;
  fail_at = -1;
  fails_at_end = holds_at_end = 0;
  for (size_t i = 0; i < host->setting_count; ++i) {
    if (strcmp(host->settings[i].key, "fail_at") == 0 && strcmp(host->settings[i].value, "end") == 0)
      fails_at_end = 1;
    else if (strcmp(host->settings[i].key, "fail_at") == 0)
      fail_at = atol(host->settings[i].value);
    else if (strcmp(host->settings[i].key, "hold_at") == 0)
      holds_at_end = 1;
    FILE* log = strcmp(host->settings[i].key, "tell_host") == 0 ? open_log(host) : NULL;
    if (log != NULL) {
      fprintf(log, "host %s of %s\n", host->host_name, host->job);
      fclose(log);
    }
    const int here = strcmp(host->settings[i].key, "refuse_on") == 0 && atoi(host->settings[i].value) == host->server_index;
    if (here || strcmp(host->settings[i].key, "refuse") == 0) {
      host->fail(host->self, "it was asked to refuse");
      return DC_E_CONFIG;
    }
  }
  return DC_OK;
}

static int on_event(void* state, const dc_event_t* event, const dc_step_t* step) {
  (void)state;
  log_event(event, step, the_host);
  return DC_OK;
}

static int on_step(void* state, const dc_step_t* step) {
  (void)state;
  FILE* log = open_log(the_host);
  if (log != NULL) {
    fprintf(log, "step %" PRId64 " complete %d time %g datasets %zu", step->step, step->complete,
            step->has_time ? step->time : -1.0, step->dataset_count);
    list_datasets(log, step);
    for (size_t i = 0; i < step->absent_count; ++i) fprintf(log, " absent:%d", (int)step->absent[i]);
    for (size_t i = 0; i < step->missing_count; ++i) fprintf(log, " missing:%d", (int)step->missing[i]);
    if (step->never_attached > 0) fprintf(log, " never_attached:%zu", step->never_attached);
    list_ladder(log, step);
    if (step->refused_count > 0) fprintf(log, " refused:%zu %s", step->refused_count, step->refused[0]);
    fprintf(log, "\n");
    for (size_t i = 0; i < step->plugin_failure_count; ++i) fprintf(log, "plugin failed: %s\n", step->plugin_failures[i]);
    fclose(log);
  }
  if (step->step != fail_at) return DC_OK;
  the_host->fail(the_host->self, "it was asked to fail at this step");
  return DC_E_IO;
}

/* Every byte of what is read is the low byte of the step; step 13 is one that nobody stored. */
static int on_read(void* state, const dc_read_t* read) {
  FILE* log = open_log(the_host);
  (void)state;
  if (log != NULL) {
    fprintf(log, "read %s step %" PRId64 " source %d block %d bytes %" PRIu64, read->variable->path, read->step, (int)read->source,
            (int)read->block, read->bytes);
    for (int d = 0; d < read->variable->ndims; ++d) {
      fprintf(log, " %" PRId64, read->extents[d]);
      if (read->has_position) fprintf(log, "@%" PRId64, read->position[d]);
      if (read->before[d] + read->behind[d] > 0)
        fprintf(log, " after %" PRId64 " before %" PRId64, read->before[d], read->behind[d]);
    }
    fprintf(log, "\n");
    fclose(log);
  }
  if (read->step == 13) {
    the_host->fail(the_host->self, "nobody stored step 13");
    return DC_E_NOT_STORED;
  }
  memset(read->data, (int)(read->step & 0xff), read->bytes);
  return DC_OK;
}

static int on_last_step(void* state, const dc_variable_info_t* variable, int64_t* step) {
  (void)state;
  *step = variable == NULL ? 42 : (int64_t)variable->id;
  return DC_OK;
}

static int finalize(void* state) {
  (void)state;
  if (holds_at_end) wait_for_go();
  FILE* log = open_log(the_host);
  if (log != NULL) {
    fprintf(log, "finalize clients");
    for (int i = 0; i < the_host->client_count; ++i) fprintf(log, " %d", (int)the_host->clients[i]);
    fprintf(log, "\n");
    fclose(log);
  }
  if (!fails_at_end) return DC_OK;
  the_host->fail(the_host->self, "it was asked to fail at its end");
  return DC_E_IO;
}

const dc_plugin_t* damaris_plugin(void) {
  static const dc_plugin_t plugin = {DC_PLUGIN_ABI, sizeof(dc_plugin_t), "recorder", init, on_event, on_step, finalize, NULL,
                                     on_read,       on_last_step,        NULL,       NULL};
  return &plugin;
}
