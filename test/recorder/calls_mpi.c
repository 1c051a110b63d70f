/* Calls every function of probes/mpi.toml and probes/mpiio.toml, as MPI_X and as PMPI_X, and prints the classes of their results. A process can start MPI once, so
 * recorded_calls_mpi NUMBER starts and ends it in the way of this number, 0 to 3. For 2 ranks; test_calls.py compares what they print.
 */
#include <mpi.h>
#include <stdlib.h>

#include "calls.h"

/* What a number means differs, and errno says nothing. */
static void print_class(const char* name, int result) {
  int class = 0;
  MPI_Error_class(result, &class);
  print(name, class, 0);
}
#undef CALL
#define CALL(name, ...) print_class(#name, name(__VA_ARGS__))

/* By both names. What is made twice is freed twice. */
#define BOTH(name, ...)         \
  do {                          \
    CALL(name, __VA_ARGS__);    \
    CALL(P##name, __VA_ARGS__); \
  } while (0)

enum { kCount = 4 };
static int rank, other;
static double from[2 * kCount + 1] = {1, 2, 3, 4, 5, 6, 7, 8}, to[2 * kCount];
static const int each[] = {kCount, kCount}, places[] = {0, kCount};
static MPI_Request requests[4];
static MPI_Status statuses[4];

static void sum_up(const char* what) {
  double sum = 0;
  for (int i = 0; i < 2 * kCount; ++i) sum += to[i] * (i + 1), to[i] = 0;
  print(what, (long long)(sum * 1000), 0);
}

/* Each sends to the other one what it receives under the same tag. */
static void receive(int tag) { CALL(MPI_Irecv, to, kCount, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, &requests[0]); }
#define SEND(name)                                                  \
  do {                                                              \
    receive(1);                                                     \
    CALL(name, from, kCount, MPI_DOUBLE, other, 1, MPI_COMM_WORLD); \
    CALL(PMPI_Wait, &requests[0], MPI_STATUS_IGNORE);               \
    sum_up(#name);                                                  \
  } while (0)

static void send(void) {
  static char room[4096];
  MPI_Buffer_attach(room, sizeof room);
  SEND(MPI_Send);
  SEND(PMPI_Send);
  SEND(MPI_Bsend);
  SEND(PMPI_Bsend);
  SEND(MPI_Ssend);
  SEND(PMPI_Ssend);
  receive(2);
  MPI_Barrier(MPI_COMM_WORLD); /* Rsend needs a receive that is there */
  CALL(MPI_Rsend, from, kCount, MPI_DOUBLE, other, 2, MPI_COMM_WORLD);
  CALL(MPI_Wait, &requests[0], &statuses[0]);
  receive(2);
  MPI_Barrier(MPI_COMM_WORLD);
  CALL(PMPI_Rsend, from, kCount, MPI_DOUBLE, other, 2, MPI_COMM_WORLD);
  CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
  BOTH(MPI_Send, from, kCount, MPI_DOUBLE, 99, 1, MPI_COMM_WORLD);
  BOTH(MPI_Send, from, -1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
  BOTH(MPI_Send, from, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  BOTH(MPI_Sendrecv, from, 1, MPI_DOUBLE, other, 3, to, 1, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  BOTH(MPI_Recv, to, 1, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &statuses[0]);
  CALL(MPI_Isend, from, 2, MPI_DOUBLE, other, 4, MPI_COMM_WORLD, &requests[1]);
  BOTH(MPI_Probe, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &statuses[0]);
  CALL(MPI_Recv, to, kCount, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &statuses[0]);
  print("status", statuses[0].MPI_SOURCE == other && statuses[0].MPI_TAG == 4, 0);
  BOTH(MPI_Wait, &requests[1], MPI_STATUS_IGNORE);
  BOTH(MPI_Sendrecv_replace, to, 1, MPI_DOUBLE, other, 3, other, 3, MPI_COMM_WORLD, &statuses[0]);
}

/* Each starts a send of tag 7 to the other one; the receive is there before, as Irsend needs it. */
#define START(name)                                                               \
  do {                                                                            \
    receive(7);                                                                   \
    MPI_Barrier(MPI_COMM_WORLD);                                                  \
    CALL(name, from, kCount, MPI_DOUBLE, other, 7, MPI_COMM_WORLD, &requests[1]); \
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);                          \
    sum_up(#name);                                                                \
  } while (0)

static void start(void) {
  START(MPI_Issend);
  START(PMPI_Issend);
  START(MPI_Ibsend);
  START(PMPI_Ibsend);
  START(MPI_Irsend);
  START(PMPI_Irsend);
  for (int i = 0; i < 2; ++i) {
    MPI_Isend(from, 1, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &requests[0]);
    if (i == 0)
      CALL(MPI_Request_free, &requests[0]);
    else
      CALL(PMPI_Request_free, &requests[0]);
  }
}

/* Errors of this communicator return; those of the world, as at first, would end the program. */
static void fail_to_send(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  BOTH(MPI_Send, from, 1, MPI_DATATYPE_NULL, other, 1, copy);
  MPI_Comm_free(&copy);
}

/* Two messages to and two from the other one; `finish` completes them. */
static void exchange(void (*finish)(void)) {
  CALL(PMPI_Irecv, to, kCount, MPI_DOUBLE, other, 5, MPI_COMM_WORLD, &requests[0]);
  CALL(MPI_Irecv, to + kCount, kCount, MPI_DOUBLE, other, 6, MPI_COMM_WORLD, &requests[1]);
  CALL(MPI_Isend, from, kCount, MPI_DOUBLE, other, 6, MPI_COMM_WORLD, &requests[2]);
  CALL(PMPI_Isend, from + 1, kCount, MPI_DOUBLE, other, 5, MPI_COMM_WORLD, &requests[3]);
  finish();
  BOTH(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
  sum_up("exchange");
}
/* How often one asks is a matter of time, so only the last answer is printed. */
static void finish_any(void) {
  int index, done = 0, indices[4];
  for (int i = 0; i < 2; ++i)
    i == 0 ? MPI_Waitany(4, requests, &index, &statuses[0]) : PMPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
  for (int left = 2; left > 0; left -= done) (left == 2 ? MPI_Waitsome : PMPI_Waitsome)(4, requests, &done, indices, statuses);
  BOTH(MPI_Waitany, 4, requests, &index, MPI_STATUS_IGNORE);
  BOTH(MPI_Waitsome, 4, requests, &done, indices, MPI_STATUSES_IGNORE);
  print("undefined", index == MPI_UNDEFINED && done == MPI_UNDEFINED, 0);
}
static void finish_by_tests(void) {
  int done = 0;
  for (int i = 0; i < 2; ++i)
    for (done = 0; !done;) (i == 0 ? MPI_Test : PMPI_Test)(&requests[i], &done, i == 0 ? &statuses[0] : MPI_STATUS_IGNORE);
  for (done = 0; !done;) MPI_Testall(4, requests, &done, statuses);
  BOTH(MPI_Test, &requests[0], &done, MPI_STATUS_IGNORE);
  BOTH(MPI_Testall, 4, requests, &done, MPI_STATUSES_IGNORE);
}
static void finish_by_tests_of_some(void) {
  int index, done = 0, indices[4];
  for (int i = 0; i < 2; ++i)
    for (done = 0; !done;)
      (i == 0 ? MPI_Testany : PMPI_Testany)(4, requests, &index, &done, i == 0 ? &statuses[0] : MPI_STATUS_IGNORE);
  for (int left = 2; left > 0; left -= done) (left == 2 ? MPI_Testsome : PMPI_Testsome)(4, requests, &done, indices, statuses);
  BOTH(MPI_Testany, 4, requests, &index, &done, MPI_STATUS_IGNORE);
  BOTH(MPI_Testsome, 4, requests, &done, indices, MPI_STATUSES_IGNORE);
}
static void finish_not(void) {}

static void collective(void) {
  BOTH(MPI_Barrier, MPI_COMM_WORLD);
  BOTH(MPI_Bcast, to, kCount, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  BOTH(MPI_Bcast, to, kCount, MPI_DOUBLE, 7, MPI_COMM_WORLD);
  BOTH(MPI_Reduce, from, to, kCount, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  BOTH(MPI_Allreduce, from, to, kCount, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  sum_up("reduced");
  BOTH(MPI_Allreduce, MPI_IN_PLACE, to, kCount, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  BOTH(MPI_Scan, from, to, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  BOTH(MPI_Exscan, from, to, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  BOTH(MPI_Reduce_scatter, from, to, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  BOTH(MPI_Reduce_scatter_block, from, to, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sum_up("summed");
  BOTH(MPI_Gather, from, kCount, MPI_DOUBLE, to, kCount, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  BOTH(MPI_Gatherv, from, kCount, MPI_DOUBLE, to, each, places, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  BOTH(MPI_Allgather, from, kCount, MPI_DOUBLE, to, kCount, MPI_DOUBLE, MPI_COMM_WORLD);
  BOTH(MPI_Allgatherv, from, kCount, MPI_DOUBLE, to, each, places, MPI_DOUBLE, MPI_COMM_WORLD);
  sum_up("gathered");
  BOTH(MPI_Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, kCount, MPI_DOUBLE, MPI_COMM_WORLD);
  BOTH(MPI_Scatter, from, kCount, MPI_DOUBLE, to, kCount, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  BOTH(MPI_Scatterv, from, each, places, MPI_DOUBLE, to, kCount, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  BOTH(MPI_Alltoall, from, kCount, MPI_DOUBLE, to, kCount, MPI_DOUBLE, MPI_COMM_WORLD);
  BOTH(MPI_Alltoallv, from, each, places, MPI_DOUBLE, to, each, places, MPI_DOUBLE, MPI_COMM_WORLD);
  sum_up("scattered");
}

static void communicators(void) {
  MPI_Comm made[2];
  MPI_Group group;
  const int extents[] = {2}, periods[] = {1};
  MPI_Comm_group(MPI_COMM_WORLD, &group);
#define MAKE(name, ...)                   \
  do {                                    \
    CALL(name, __VA_ARGS__, &made[0]);    \
    CALL(P##name, __VA_ARGS__, &made[1]); \
    CALL(MPI_Comm_free, &made[0]);        \
    CALL(PMPI_Comm_free, &made[1]);       \
  } while (0)
  MAKE(MPI_Comm_dup, MPI_COMM_WORLD);
  MAKE(MPI_Comm_split, MPI_COMM_WORLD, 3, -rank);
  MAKE(MPI_Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL);
  MAKE(MPI_Cart_create, MPI_COMM_WORLD, 1, extents, periods, 0);
  MAKE(MPI_Comm_create, MPI_COMM_WORLD, group);
  CALL(MPI_Comm_split, MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &made[0]);
  if (rank == 1) MPI_Comm_free(&made[0]);
  MPI_Group_free(&group);
}

/* Of two groups, between which arguments that are not significant may be anything, and counts are of the other group. */
static void between_groups(void) {
  MPI_Comm own, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, other, 9, &between);
  CALL(MPI_Alltoallv, from, each, places, MPI_DOUBLE, to, each, places, MPI_DOUBLE, between);
  if (rank == 0)
    CALL(MPI_Gather, NULL, 1, MPI_DATATYPE_NULL, to, kCount, MPI_DOUBLE, MPI_ROOT, between);
  else
    CALL(MPI_Gather, from, kCount, MPI_DOUBLE, NULL, 1, MPI_DATATYPE_NULL, 0, between);
  sum_up("between");
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
}

static int errors;
static void count_error(MPI_File* file, int* error, ...) { (void)file, (void)error, ++errors; }

static void files(void) {
  MPI_File file, second, none;
  MPI_Errhandler counting;
  const MPI_Offset block = kCount * (MPI_Offset)sizeof(double), mine = rank * block;
  CALL(MPI_File_open, MPI_COMM_WORLD, "by_mpi", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  CALL(PMPI_File_open, MPI_COMM_SELF, rank == 0 ? "own0" : "own1", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &second);
  print("MPI_File_open", MPI_File_open(MPI_COMM_SELF, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &none) != MPI_SUCCESS, 0);
  BOTH(MPI_File_set_size, file, 20 * block);
  BOTH(MPI_File_write_at, file, mine, from, kCount, MPI_DOUBLE, &statuses[0]);
  BOTH(MPI_File_write_at_all, file, 2 * block + mine, from, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE);
  BOTH(MPI_File_set_view, file, 4 * block + mine, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
  BOTH(MPI_File_write, file, from, 1, MPI_DOUBLE, &statuses[0]);
  BOTH(MPI_File_write_all, file, from, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  BOTH(MPI_File_write_shared, second, from, 2, MPI_DOUBLE, &statuses[0]);
  CALL(MPI_File_iwrite_at, file, 8 * block + mine, from, kCount, MPI_DOUBLE, &requests[0]);
  CALL(PMPI_File_iwrite_at, file, 10 * block + mine, from, kCount, MPI_DOUBLE, &requests[1]);
  CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  BOTH(MPI_File_sync, file);
  BOTH(MPI_File_read_at, file, mine, to, kCount, MPI_DOUBLE, &statuses[0]);
  sum_up("read");
  BOTH(MPI_File_read_at_all, file, mine, to, kCount, MPI_DOUBLE, MPI_STATUS_IGNORE);
  BOTH(MPI_File_read, file, to, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  BOTH(MPI_File_read_all, file, to, 1, MPI_DOUBLE, &statuses[0]);
  sum_up("read");
  MPI_File_create_errhandler(count_error, &counting);
  MPI_File_set_errhandler(second, counting);
  BOTH(MPI_File_write_at, second, -5, from, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  print("errors", errors, 0);
  MPI_Errhandler_free(&counting);
  CALL(MPI_File_close, &second);
  CALL(PMPI_File_close, &file);
}

int main(int count, char** words) {
  const int way = atoi(words[1]);
  int got;
  if (way == 0) got = MPI_Init(&count, &words);
  if (way == 1) got = PMPI_Init(NULL, NULL);
  if (way == 2) got = MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &other);
  if (way == 3) got = PMPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &other);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!open_results(rank == 0 ? "results0" : "results1")) return 1;
  other = 1 - rank;
  static const char* const names[] = {"MPI_Init", "PMPI_Init", "MPI_Init_thread", "PMPI_Init_thread"};
  print(names[way], got, 0);
  fail_to_send();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  send();
  start();
  exchange(finish_any);
  exchange(finish_by_tests);
  exchange(finish_by_tests_of_some);
  exchange(finish_not);
  collective();
  communicators();
  between_groups();
  files();
  if (way % 2 == 0)
    print("MPI_Finalize", MPI_Finalize(), 0);
  else
    print("PMPI_Finalize", PMPI_Finalize(), 0);
  return 0;
}
