/* A client that appends under remote control: a command a line, answered by "<code> <sentence>".
 * Used by: the tests of logs, as a process of its own.
 * Before it: a test writes "init 0", "append 100 64", ... After it: the test reads code and sentence.
 *
 *   init ID | append COUNT BYTES | list COUNT BYTES | alloc COUNT BYTES | commit MS | write STEP | end STEP | finalize | quit
 * Records have up to BYTES bytes. After appends the sentence is "NUMBER FILE OFFSET" of the last one.
 */
#include <damaris/damaris.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

static uint32_t stream, next;
static dc_position_t last;
static unsigned char* bytes_of_record;

static int append(const char* word, uint32_t bytes) {
  dc_log_t* log = NULL;
  void* place = NULL;
  if (strcmp(word, "append") == 0) {
    fill_record(bytes_of_record, stream, next, bytes);
    return dc_append("events", bytes_of_record, bytes, &last);
  }
  int code = dc_log("events", &log);
  if (code == DC_OK && strcmp(word, "list") == 0) {
    fill_record(bytes_of_record, stream, next, bytes);
    const dc_piece_t pieces[] = {{bytes_of_record, 7}, {NULL, 0}, {bytes_of_record + 7, bytes - 7}};
    return dc_append_list(log, pieces, 3, &last);
  }
  if (code == DC_OK) code = dc_append_alloc(log, bytes + 100, &place);
  if (code != DC_OK) return code;
  fill_record(place, stream, next, bytes);
  return dc_append_publish(log, place, bytes, &last);
}

static int append_many(const char* word, uint32_t count, uint32_t most) {
  bytes_of_record = realloc(bytes_of_record, most);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t bytes = kSmallestRecord + (next * 2654435761u) % (most - kSmallestRecord + 1);
    const dc_position_t before = last;
    const int code = append(word, bytes);
    if (code != DC_OK) return code;
    if (next > 0 && (last.file != before.file || last.offset <= before.offset)) return DC_E_INTERNAL;
    next++;
  }
  return DC_OK;
}

static int obey(const char* config, const char* line, int* appended) {
  char word[64] = "";
  int64_t first = 0;
  uint32_t second = 0;
  const double x[16] = {0};
  *appended = 0;
  if (sscanf(line, "%63s %" SCNd64 " %u", word, &first, &second) < 1) return DC_E_ARGUMENT;
  if (strcmp(word, "init") == 0) {
    stream = (uint32_t)first;
    next = 0;
    return dc_initialize(config, (int)first);
  }
  if (strcmp(word, "commit") == 0) return dc_log_commit("events", (int)first);
  if (strcmp(word, "write") == 0) return dc_write("x", first, x);
  if (strcmp(word, "end") == 0) return dc_end_iteration(first);
  if (strcmp(word, "finalize") == 0) return dc_finalize();
  *appended = 1;
  return append_many(word, (uint32_t)first, second);
}

int main(int argc, char** argv) {
  char line[256];
  if (argc < 2) return 2;
  while (fgets(line, sizeof line, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
    int appended = 0;
    const int code = obey(argv[1], line, &appended);
    if (code == DC_OK && appended)
      printf("%d %u %" PRId64 " %" PRIu64 "\n", code, next, last.file, last.offset);
    else
      printf("%d %s\n", code, code == DC_OK ? "" : dc_last_error());
    fflush(stdout);
  }
  return 0;
}
