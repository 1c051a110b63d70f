/* Is linked with one library of loaded.c, and loads another one at run time; and asks late why there is no third: recorded_loader LIBRARY */
#include <dlfcn.h>
#include <stdio.h>

int recorded_value(void);

int main(int count, char** words) {
  printf("linked: %d\n", recorded_value());
  void* const library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 1;
  int (*const value)(void) = (int (*)(void))dlsym(library, "recorded_value");
  printf("loaded: %d\n", value());
  fflush(stdout);
  if (dlopen("missing.so", RTLD_NOW) != NULL) return 2;
  puts("not loaded:");
  FILE* const file = fopen("reason", "w");
  const char* const reason = dlerror();
  fputs(reason != NULL ? reason : "forgotten", file);
  fclose(file);
  puts(reason != NULL ? reason : "forgotten");
  return 0;
}
