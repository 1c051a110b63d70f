/* Particles bounce in a box, and each bounce is an event in a log. Steps have nothing to do with it.
 * Run two of them: ./append_c append.xml 0 & ./append_c append.xml 1; wait
 */
#include <stdio.h>
#include <stdlib.h>

#include <damaris/damaris.h>

enum { kParticles = 100, kSteps = 200 };

struct event { /* 16 bytes, as they are in the file */
  int32_t particle, wall;
  double time;
};

static void must(int code) {
  if (code >= 0) return;
  fprintf(stderr, "append: %s\n", dc_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: append_c CONFIG ID   (each process of a run has another ID: 0, 1, ...)\n");
    return 2;
  }
  must(dc_initialize(argv[1], atoi(argv[2])));
  dc_log_t* events = NULL;
  must(dc_log("events", &events));
  double place[kParticles], speed[kParticles];
  for (int i = 0; i < kParticles; i++) place[i] = (i + 0.5) / kParticles, speed[i] = 0.01 + 0.0001 * i;

  int bounces = 0;
  dc_position_t first = {-1, 0};
  for (int step = 0; step < kSteps; step++)
    for (int i = 0; i < kParticles; i++) {
      place[i] += speed[i];
      if (place[i] >= 0 && place[i] <= 1) continue;
      const struct event bounce = {i, place[i] > 1, step};
      speed[i] = -speed[i];
      dc_position_t where;
      must(dc_append_to(events, &bounce, sizeof bounce, &where));
      if (bounces++ == 0) first = where;
    }
  must(dc_log_commit("events", 30000)); /* from here on they survive the end of the machine */
  printf("%d bounces; the first is at byte %llu of file %lld\n", bounces, (unsigned long long)first.offset, (long long)first.file);
  must(dc_finalize());
  return 0;
}
