/* A program for bench replay: its processes compute by spinning, meet, and write; in one of three ways, with the same work in total.
 * Used by: predictions.py, under mpirun and damaris record.
 * Before it: WAY STEPS COMPUTE_US BYTES SYNC_EVERY PROCESSES FOLDER [XML], of each step and each of PROCESSES processes; fewer clients have
 * more each. After it: the seconds from the first meeting to the end of the last step, stored as the way stores it.
 */
#include <damaris/damaris_mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum way { kFile, kCollective, kDedicated };
static MPI_Comm clients = MPI_COMM_WORLD;
static int rank, count;

static void must(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "phases: %s has failed: %s\n", what, dc_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute(double seconds) {
  const double until = now() + seconds;
  while (now() < until) continue;
}

static void write_file(const char* folder, int step, const char* data, size_t bytes, int syncs) {
  char name[4096];
  snprintf(name, sizeof name, "%s/phases.%d.%d", folder, step, rank);
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  must(file >= 0 && pwrite(file, data, bytes, 0) == (ssize_t)bytes, "pwrite");
  must(!syncs || fsync(file) == 0, "fsync");
  close(file);
}

static void write_together(const char* folder, int step, const char* data, size_t bytes, int syncs) {
  char name[4096];
  MPI_File file;
  snprintf(name, sizeof name, "%s/phases.%d", folder, step);
  must(MPI_File_open(clients, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS, "MPI_File_open");
  must(MPI_File_write_at_all(file, (MPI_Offset)bytes * rank, data, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
       "MPI_File_write_at_all");
  must(!syncs || MPI_File_sync(file) == MPI_SUCCESS, "MPI_File_sync");
  MPI_File_close(&file);
}

static void hand_over(int step, const char* data, size_t bytes) {
  const int64_t extent = (int64_t)bytes;
  must(dc_set_shape("block", 1, &extent) >= 0 && dc_write("block", step, data) >= 0, "dc_write");
  must(dc_end_iteration(step) >= 0, "dc_end_iteration");
}

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  const enum way way = strcmp(argv[1], "dedicated") == 0 ? kDedicated : strcmp(argv[1], "collective") == 0 ? kCollective : kFile;
  const int steps = atoi(argv[2]), every = atoi(argv[5]);
  int is_client = 1;
  MPI_Init(&argc, &argv);
  if (way == kDedicated) must(dc_mpi_initialize(argv[8], MPI_COMM_WORLD, &clients, &is_client) >= 0, "dc_mpi_initialize");
  if (is_client) {
    MPI_Comm_rank(clients, &rank);
    MPI_Comm_size(clients, &count);
    const double share = atof(argv[6]) / count;
    const size_t bytes = (size_t)(atof(argv[4]) * share);
    char* const data = malloc(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = (char)(i * 2654435761u >> 13);
    MPI_Barrier(clients);
    const double begin = now();
    for (int step = 0; step < steps; ++step) {
      const int syncs = every > 0 && step % every == every - 1;
      compute(1e-6 * atof(argv[3]) * share);
      MPI_Barrier(clients);
      if (way == kFile) write_file(argv[7], step, data, bytes, syncs);
      if (way == kCollective) write_together(argv[7], step, data, bytes, syncs);
      if (way == kDedicated) hand_over(step, data, bytes);
    }
    if (way == kDedicated) must(dc_finalize() >= 0, "dc_finalize");
    MPI_Barrier(clients);
    if (rank == 0) printf("%.6f\n", now() - begin);
    free(data);
  }
  MPI_Finalize();
  return 0;
}
