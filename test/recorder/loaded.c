/* A library whose constructor keeps a value of its thread and writes a file, when a program that is linked with it has not called the recorder's
 * constructor yet; AT_RUN_TIME also by a thread that it waits for, while dlopen has the loader's lock.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_key_t key;
static int value = 42;

#ifdef AT_RUN_TIME
static void* write_by_thread(void* unused) {
  const int file = open("by_thread", O_WRONLY | O_CREAT, 0600);
  if (write(file, "of the thread\n", 14) != 14) value = -2;
  close(file);
  return unused;
}
#endif

__attribute__((constructor)) static void start(void) {
  if (pthread_key_create(&key, NULL) != 0 || pthread_setspecific(key, &value) != 0) return;
  FILE* const file = fopen("by_constructor", "a");
  fputs("of the constructor\n", file);
  fclose(file);
#ifdef AT_RUN_TIME
  pthread_t thread;
  pthread_create(&thread, NULL, write_by_thread, NULL);
  pthread_join(thread, NULL);
#endif
}

int recorded_value(void) {
  const int* const kept = pthread_getspecific(key);
  return kept == &value ? *kept : -1;
}
