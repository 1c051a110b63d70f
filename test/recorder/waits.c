/* Programs with a habit of communication that waits, and the same work without it: waits CODE bad|good, on four ranks. The codes are those of
 * damaris report. To compute is to sleep, so that more ranks than cores do not change who waits for whom. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 40, SUMS = 20, TAG = 7 };

static int bad, rank, ranks;

static void compute(int ms) { nanosleep(&(struct timespec){0, ms * 1000000L}, NULL); }

/* In each step another rank computes longest, none next to the one before; in sum all compute as long. */
static void compute_in_turn(int step) {
  static const int longest[] = {0, 2, 1, 3};
  compute(longest[step % 4] == rank ? 6 : 2);
}

static int neighbour(int to) { return to < 0 || to >= ranks ? MPI_PROC_NULL : to; }

static void chain(void) {
  const int left = neighbour(rank - 1), right = neighbour(rank + 1);
  for (int step = 0; step < STEPS; ++step) {
    double cells[4] = {0};
    compute_in_turn(step);
    if (bad)
      for (int i = 0; i < 4; ++i)
        MPI_Sendrecv_replace(&cells[i], 1, MPI_DOUBLE, i % 2 ? right : left, TAG, i % 2 ? right : left, TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    else {
      double got[4];
      MPI_Request requests[8];
      MPI_Status statuses[8];
      for (int i = 0; i < 4; ++i) MPI_Irecv(&got[i], 1, MPI_DOUBLE, i % 2 ? right : left, TAG, MPI_COMM_WORLD, &requests[i]);
      for (int i = 0; i < 4; ++i) MPI_Isend(&cells[i], 1, MPI_DOUBLE, i % 2 ? right : left, TAG, MPI_COMM_WORLD, &requests[4 + i]);
      MPI_Waitall(8, requests, statuses);
    }
  }
}

static void sums(void) {
  double mine[SUMS] = {0}, all[SUMS];
  for (int step = 0; step < STEPS; ++step) {
    compute(2);
    if (!bad) MPI_Allreduce(mine, all, SUMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; bad && i < SUMS; ++i) MPI_Allreduce(&mine[i], &all[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void barriers(void) {
  for (int step = 0; step < STEPS; ++step) {
    compute_in_turn(step);
    if (bad) MPI_Barrier(MPI_COMM_WORLD);
  }
  double mine = rank, sum;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* Rank 0 has the orders before it computes; the others cannot begin without. */
static void late_sender(void) {
  for (int step = 0; step < STEPS; ++step) {
    double order = step;
    if (rank == 0) {
      if (bad) compute(4);
      for (int to = 1; to < ranks; ++to) MPI_Send(&order, 1, MPI_DOUBLE, to, TAG, MPI_COMM_WORLD);
      if (!bad) compute(4);
      for (int from = 1; from < ranks; ++from) MPI_Recv(&order, 1, MPI_DOUBLE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&order, 1, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(4);
      MPI_Send(&order, 1, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD);
    }
  }
}

static void imbalance(void) {
  double mine = rank, sum;
  for (int step = 0; step < STEPS; ++step) {
    compute(bad && rank == 1 ? 20 : 4);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int count, char** words) {
  static void (*const habits[])(void) = {chain, sums, barriers, late_sender, imbalance};
  const int number = count == 3 && words[1][0] == 'C' ? atoi(words[1] + 1) : 0;
  if (number < 1 || number > 5) return 2;
  bad = strcmp(words[2], "bad") == 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  habits[number - 1]();
  MPI_Finalize();
  return 0;
}
