/* Makes many calls of a kind and prints the processor time of one in ns: damaris_bench_calls read|write|stdio|block|message COUNT FILE
 * Used by: bench_record.py, with and without a recorder. Before it: FILE can be made. After it: a number on stdout.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { kBlock = 4096, kBlocks = 4096 };

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static char bytes[kBlock];
static int file;
static FILE* stream;

static void read_byte(long i) {
  if (pread(file, bytes, 1, i & 0xfff) < 0) fail("pread");
}
static void write_four(long i) {
  if (pwrite(file, bytes, 4, (i & 0x3ff) * 4) != 4) fail("pwrite");
}
static void write_block(long i) {
  if (pwrite(file, bytes, kBlock, (i % kBlocks) * (long)kBlock) != kBlock) fail("pwrite");
}
static void write_stream(long i) {
  if ((i & 0xfffff) == 0) rewind(stream);
  if (fwrite(bytes, 8, 1, stream) != 1) fail("fwrite");
}
#ifdef WITH_MPI
static void message(long i) {
  MPI_Request request;
  (void)i;
  MPI_Irecv(bytes, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
  MPI_Send(bytes + 8, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif

static const struct {
  const char* name;
  void (*call)(long);
} kinds[] = {{"read", read_byte},
             {"write", write_four},
             {"block", write_block},
             {"stdio", write_stream},
#ifdef WITH_MPI
             {"message", message}
#endif
};

int main(int words, char** word) {
  if (words != 4) return 2;
#ifdef WITH_MPI
  MPI_Init(&words, &word);
#endif
  const long count = atol(word[2]);
  void (*call)(long) = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if (strcmp(word[1], kinds[i].name) == 0) call = kinds[i].call;
  file = open(word[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
  stream = fopen(word[3], "r+");
  if (call == NULL || file < 0 || stream == NULL) fail(word[3]);
  for (long i = 0; i < kBlocks; ++i) write_block(i); /* the pages are there, and the recorder has met the file */
  for (long i = 0; i < 1000; ++i) call(i);
  const double begin = cpu_ns();
  for (long i = 0; i < count; ++i) call(i);
  printf("%.3f\n", (cpu_ns() - begin) / (double)count);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
