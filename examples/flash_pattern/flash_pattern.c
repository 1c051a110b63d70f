/* The communication of a block-structured simulation, as FLASH has it: guard cells by MPI_Sendrecv_replace, one sum after the other, and a barrier behind
 * each checkpoint. Built with MENDED, it does the same without these habits:   flash_pattern [STEPS]
 * The README has what damaris report and damaris view say about both.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kVariables = 3, kCells = 4096, kSums = 32, kCheckpoint = 5 };
static double block[kVariables][kCells + 2]; /* guard cells at both ends */
static int rank, size, left, right;

static void check(int is_fine, const char* what) {
  if (is_fine) return;
  fprintf(stderr, "flash_pattern: rank %d: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Instead of a solver: this takes 2 ms, and on one rank, another one each step, 6 ms. Sleeping, it needs no core of its own. */
static void compute(int step) {
  const struct timespec time = {0, step % size == rank ? 6000000 : 2000000};
  nanosleep(&time, NULL);
  for (int variable = 0; variable < kVariables; ++variable)
    for (int i = 1; i <= kCells; ++i)
      block[variable][i] += 0.1 * (block[variable][i - 1] - 2 * block[variable][i] + block[variable][i + 1]);
}

#ifndef MENDED
/* Each exchange waits for the one before: a delay of one rank reaches all others in the same step. */
static void fill_guard_cells(void) {
  for (int variable = 0; variable < kVariables; ++variable) {
    double* const cells = block[variable];
    cells[0] = cells[1], cells[kCells + 1] = cells[kCells];
    MPI_Sendrecv_replace(&cells[0], 1, MPI_DOUBLE, left, 0, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(&cells[kCells + 1], 1, MPI_DOUBLE, right, 0, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void sum_up(const double* mine, double* sums) {
  for (int i = 0; i < kSums; ++i) MPI_Allreduce(&mine[i], &sums[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
#else
static void fill_guard_cells(void) {
  MPI_Request requests[4 * kVariables];
  MPI_Status statuses[4 * kVariables];
  for (int variable = 0; variable < kVariables; ++variable) {
    double* const cells = block[variable];
    MPI_Request* const mine = &requests[4 * variable];
    cells[0] = cells[1], cells[kCells + 1] = cells[kCells]; /* stays so where there is no neighbour */
    MPI_Irecv(&cells[0], 1, MPI_DOUBLE, left, variable, MPI_COMM_WORLD, &mine[0]);
    MPI_Irecv(&cells[kCells + 1], 1, MPI_DOUBLE, right, variable, MPI_COMM_WORLD, &mine[1]);
    MPI_Isend(&cells[1], 1, MPI_DOUBLE, left, variable, MPI_COMM_WORLD, &mine[2]);
    MPI_Isend(&cells[kCells], 1, MPI_DOUBLE, right, variable, MPI_COMM_WORLD, &mine[3]);
  }
  MPI_Waitall(4 * kVariables, requests, statuses);
}

static void sum_up(const double* mine, double* sums) { MPI_Allreduce(mine, sums, kSums, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
#endif

static void write_checkpoint(int step) {
  char name[64];
  snprintf(name, sizeof name, "checkpoint.%d.%d", step, rank);
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  check(file >= 0 && write(file, block, sizeof block) == (ssize_t)sizeof block && close(file) == 0, "writing a checkpoint");
#ifndef MENDED
  MPI_Barrier(MPI_COMM_WORLD);
#endif
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  const int steps = count > 1 ? atoi(words[1]) : 60;
  for (int variable = 0; variable < kVariables; ++variable)
    for (int i = 0; i < kCells + 2; ++i) block[variable][i] = rank + (i == kCells / 2) + variable;
  double sums[kSums] = {0};
  for (int step = 1; step <= steps; ++step) {
    compute(step);
    fill_guard_cells();
    if (step % kCheckpoint == 0) { /* the sums are for a line of a log */
      double mine[kSums];
      for (int i = 0; i < kSums; ++i) mine[i] = block[i % kVariables][1 + i * (kCells - 1) / (kSums - 1)];
      sum_up(mine, sums);
      write_checkpoint(step);
    }
  }
  if (rank == 0) printf("after %d steps on %d ranks: %.9g %.9g %.9g\n", steps, size, sums[0], sums[kSums / 2], sums[kSums - 1]);
  MPI_Finalize();
  return 0;
}
