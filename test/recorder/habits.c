/* Programs with a bad habit of input and output, and the same work without it: habits CODE bad|good, in the current folder. The codes are those of
 * damaris report. I1, I6 and I8 take two ranks; the others are one process, without MPI. Time that is to be slow comes from strace, which
 * delays each write(), and some calls of pwrite(). */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KB = 1024, MB = 1024 * KB, LARGE = 16 * MB, PIECE = 4 * KB, SMALL = 256, PIECES = 8000 };

static int bad, rank, ranks = 1;
static char* data;

static void must(int worked, const char* what) {
  if (worked) return;
  perror(what);
  exit(3);
}

static int opened(const char* name) {
  const int file = open(name, O_CREAT | O_RDWR, 0644);
  must(file >= 0, name);
  return file;
}

static int numbered(const char* name, int number) {
  char full[64];
  snprintf(full, sizeof full, "%s%d", name, number);
  return opened(full);
}

static void put(int file, size_t count, off_t at) { must(pwrite(file, data, count, at) == (ssize_t)count, "pwrite"); }

static void put_large(void) {
  const int file = numbered("large", rank);
  put(file, LARGE, 0);
  close(file);
}

static void file_per_process(void) {
  if (bad)
    for (int i = 0; i < 300; ++i) {
      const int file = numbered("own", i * ranks + rank);
      put(file, PIECE, 0);
      close(file);
    }
  else {
    const int file = opened("shared");
    put(file, 300 * PIECE, (off_t)rank * 300 * PIECE);
    close(file);
  }
}

static void names_more_than_data(void) {
  int file = -1;
  for (int i = 0; i < 10000; ++i) {
    if (bad || i == 0) file = opened("log");
    if (i % 5 == 0) put(file, 16, i * 16);
    if (bad) close(file);
  }
}

static void small_writes(void) {
  const int file = opened("particles");
  const size_t count = bad ? 10 : 200 * KB;
  for (size_t at = 0; at < 200 * KB; at += count) put(file, count, (off_t)at);
  close(file);
  put_large();
}

static void unaligned(void) {
  const int file = opened("blocks");
  for (int i = 0; i < 2000; ++i) put(file, 2 * PIECE, (off_t)i * 4 * PIECE + (bad ? 100 : 0));
  close(file);
}

static void read_back(void) {
  const int output = opened("output"), input = opened("input");
  for (int i = 0; i < 64; ++i) put(output, MB / 4, (off_t)i * MB / 4);
  for (int i = 0; i < 256; ++i) must(pread(bad ? output : input, data, MB / 4, (off_t)(i % 64) * MB / 4) == MB / 4, "pread");
}

static void pieces_side_by_side(void) {
  const int file = opened("shared");
  for (int i = 0; i < 4 * PIECES; ++i) put(file, SMALL, (off_t)(bad ? i * ranks + rank : rank * 4 * PIECES + i) * SMALL);
  put_large();
}

static void irregular_phases(void) {
  const int file = opened("checkpoint");
  for (int step = 0; step < 6; ++step) {
    nanosleep(&(struct timespec){0, 40 * 1000 * 1000}, NULL);
    must(write(file, data, MB) == MB && write(file, data, MB) == MB, "write");
    put(file, PIECE, 0);
  }
}

static void independent_pieces(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  for (int i = 0; i < PIECES; ++i) {
    const MPI_Offset at = (MPI_Offset)(i * ranks + rank) * SMALL;
    (bad ? MPI_File_write_at : MPI_File_write_at_all)(file, at, data, SMALL, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  put_large();
}

static void one_slow_target(void) {
  for (int part = 0; part < 8; ++part) {
    const int file = numbered("part", part);
    must(write(file, data, MB) == MB, "write");
    for (int i = 0; i < 3; ++i) put(file, PIECE, MB + i * PIECE);
    close(file);
  }
}

int main(int count, char** words) {
  static void (*const habits[])(void) = {file_per_process,    names_more_than_data, small_writes,       unaligned,      read_back,
                                         pieces_side_by_side, irregular_phases,     independent_pieces, one_slow_target};
  const int number = count == 3 && words[1][0] == 'I' ? atoi(words[1] + 1) : 0;
  if (number < 1 || number > 9) return 2;
  const int of_ranks = number == 1 || number == 6 || number == 8;
  bad = strcmp(words[2], "bad") == 0;
  data = malloc(LARGE);
  memset(data, 1, LARGE);
  if (of_ranks) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  habits[number - 1]();
  if (of_ranks) MPI_Finalize();
  free(data);
  return 0;
}
