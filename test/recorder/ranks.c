/* Each rank writes a file by write and one by fwrite, again and again; then one of three dies: recorded_ranks killed|aborts|ends */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  int rank;
  char name[32];
  static const char bytes[1000];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "written%d", rank);
  const int file = open(name, O_WRONLY | O_CREAT, 0600);
  snprintf(name, sizeof name, "streamed%d", rank);
  FILE* const stream = fopen(name, "w");
  for (int i = 0; i < 40000; ++i)
    if (write(file, bytes, 10 + (size_t)rank) < 0 || fwrite(bytes, 1, 7, stream) != 7) return 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && strcmp(words[1], "killed") == 0) kill(getpid(), SIGKILL);
  if (rank == 1 && strcmp(words[1], "aborts") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(words[1], "ends") != 0) MPI_Barrier(MPI_COMM_WORLD);
  fclose(stream);
  MPI_Finalize();
  return 0;
}
