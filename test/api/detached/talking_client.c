/* A client that does what standard input says, one call a line, and answers with "<code> <sentence>". Driven by detached_test.py. */
#include <damaris/damaris.h>
#include <stdio.h>
#include <string.h>

static int obey(const char* verb, const char* text, long number) {
  const int line[4] = {1, 2, 3, 4};
  if (strcmp(verb, "initialize") == 0) return dc_initialize(text, (int)number);
  if (strcmp(verb, "write") == 0) return dc_write("line", number, line);
  if (strcmp(verb, "signal") == 0) return dc_signal("tick", number);
  if (strcmp(verb, "end") == 0) return dc_end_iteration(number);
  if (strcmp(verb, "flush") == 0) return dc_flush(number, 3000);
  if (strcmp(verb, "finalize") == 0) return dc_finalize();
  return DC_E_ARGUMENT;
}

int main(void) {
  char verb[64];
  char text[3000];
  long number = 0;
  char input[4096];
  while (fgets(input, sizeof input, stdin) != NULL) {
    if (sscanf(input, "%63s %ld %2999[^\n]", verb, &number, text) < 2) return 2;
    const int code = obey(verb, text, number);
    printf("%d %s\n", code, code < 0 ? dc_last_error() : "");
    fflush(stdout);
  }
  return 0;
}
