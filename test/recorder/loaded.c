/* A library whose constructor keeps a value of its thread and writes a file by itself and by a thread that it waits for. The loader has its lock
 * meanwhile, or, if the program is linked with the library, has not called the recorder's constructor yet.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_key_t key;
static int value = 42;
static long written;

static void* write_by_thread(void* unused) {
  const int file = open("by_constructor", O_WRONLY | O_APPEND | O_CREAT, 0600);
  written = write(file, "of the thread\n", 14);
  close(file);
  return unused;
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  if (pthread_key_create(&key, NULL) != 0 || pthread_setspecific(key, &value) != 0) return;
  FILE* const file = fopen("by_constructor", "a");
  fputs("of the constructor\n", file);
  fclose(file);
  pthread_create(&thread, NULL, write_by_thread, NULL);
  pthread_join(thread, NULL);
}

int recorded_value(void) {
  const int* const kept = pthread_getspecific(key);
  return written == 14 && kept == &value ? *kept : -1;
}
