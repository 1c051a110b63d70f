/* Exchanges random messages, each of which says which send it came from, and writes what each receive got: recorded_messages SEED ROUNDS
 * All ranks draw the same plan of a round. The receives of a round on a communicator are of one sort: by source and tag, by one of them, or by none,
 * so that none takes another's message; a barrier ends a round.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64, kComms = 4, kTags = 3, kCancelled = 99 };
struct Message {
  int source, target, comm, tag; /* world ranks */
};
struct Got {
  int rank, send, receive; /* the sender, the ordinal of its send, and that of the receive here */
};

static MPI_Comm comms[kComms];
static int rank, size, ranks_in[kComms][kMost]; /* by world rank; -1: it is no member */
static int sends, receives;                     /* calls so far */
static struct Got buffers[2 * kMost], outgoing[2 * kMost];
static MPI_Request requests[2 * kMost];
static int filled; /* of buffers and requests */
static FILE* results;
static uint64_t state;

static int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)below);
}
/* What only this rank draws, so that the plan stays the same in all. */
static uint64_t own_state;
static int draw_own(int below) {
  own_state = own_state * 6364136223846793005u + 1442695040888963407u;
  return (int)((own_state >> 33) % (uint64_t)below);
}

static void make_comms(void) {
  MPI_Group world, group;
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);       /* in the opposite order */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]); /* two of the same name */
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < kComms; ++i) {
    MPI_Comm_group(comms[i], &group);
    for (int one = 0; one < size; ++one) {
      int there;
      MPI_Group_translate_ranks(world, 1, &one, group, &there);
      ranks_in[i][one] = there == MPI_UNDEFINED ? -1 : there;
    }
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
}

static struct Got* sent_from(struct Got* buffer) {
  *buffer = (struct Got){rank, sends++, 0};
  return buffer;
}

static void start_send(const struct Message* one, struct Got* buffer) {
  const int target = ranks_in[one->comm][one->target];
  MPI_Request* const request = &requests[filled];
  buffers[filled].receive = -1;
  sent_from(buffer);
  switch (draw_own(4)) {
    case 0:
      MPI_Issend(buffer, 2, MPI_INT, target, one->tag, comms[one->comm], request), ++filled;
      return;
    case 1:
      MPI_Isend(buffer, 2, MPI_INT, target, one->tag, comms[one->comm], request);
      MPI_Request_free(request);
      return;
    default:
      MPI_Isend(buffer, 2, MPI_INT, target, one->tag, comms[one->comm], request), ++filled;
  }
}

static void receive(const struct Message* one, int sort, int may_block) {
  const int source = sort & 1 ? MPI_ANY_SOURCE : ranks_in[one->comm][one->source], tag = sort & 2 ? MPI_ANY_TAG : one->tag;
  struct Got* const buffer = &buffers[filled];
  buffer->receive = receives++;
  if (may_block && draw_own(3) == 0) {
    MPI_Recv(buffer, 2, MPI_INT, source, tag, comms[one->comm], MPI_STATUS_IGNORE);
    requests[filled++] = MPI_REQUEST_NULL;
  } else {
    MPI_Irecv(buffer, 2, MPI_INT, source, tag, comms[one->comm], &requests[filled++]);
  }
}

static void receive_none(void) {
  MPI_Request request;
  struct Got none;
  ++receives;
  MPI_Irecv(&none, 2, MPI_INT, MPI_ANY_SOURCE, kCancelled, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void complete(void) {
  static int indices[2 * kMost];
  static MPI_Status statuses[2 * kMost];
  const int wants = draw_own(2);
  MPI_Status* const one = wants ? statuses : MPI_STATUS_IGNORE;
  MPI_Status* const all = wants ? statuses : MPI_STATUSES_IGNORE;
  int index = 0, done = 0;
  switch (draw_own(8)) {
    case 0:
      for (int i = 0; i < filled; ++i) MPI_Wait(&requests[i], one);
      break;
    case 1:
      MPI_Waitall(filled, requests, all);
      break;
    case 2:
      while (index != MPI_UNDEFINED) MPI_Waitany(filled, requests, &index, one);
      break;
    case 3:
      while (done != MPI_UNDEFINED) MPI_Waitsome(filled, requests, &done, indices, all);
      break;
    case 4:
      for (int i = filled; i-- > 0;)
        for (done = 0; !done;) MPI_Test(&requests[i], &done, one);
      break;
    case 5:
      while (!done) MPI_Testall(filled, requests, &done, all);
      break;
    case 6:
      while (!done || index != MPI_UNDEFINED) MPI_Testany(filled, requests, &index, &done, one);
      break;
    default:
      while (done != MPI_UNDEFINED) MPI_Testsome(filled, requests, &done, indices, all);
  }
}

static void write_received(void) {
  for (int i = 0; i < filled; ++i)
    if (buffers[i].receive >= 0) fprintf(results, "%d %d %d\n", buffers[i].receive, buffers[i].rank, buffers[i].send);
}

static void exchange(void) {
  struct Message plan[kMost];
  int sorts[kComms][kMost];
  const int count = 1 + draw(kMost);
  for (int i = 0; i < count; ++i) {
    plan[i] = (struct Message){draw(size), draw(size), draw(kComms), draw(kTags)};
    if (plan[i].comm == 3 && plan[i].source % 2 != plan[i].target % 2) plan[i].comm = draw(3);
  }
  for (int i = 0; i < kComms; ++i)
    for (int one = 0; one < size; ++one) sorts[i][one] = draw(4);
  filled = 0;
  for (int i = 0; i < count; i += 2) /* some before the sends, some after */
    if (plan[i].target == rank) receive(&plan[i], sorts[plan[i].comm][rank], 0);
  for (int i = 0; i < count; ++i)
    if (plan[i].source == rank) start_send(&plan[i], &outgoing[i]);
  for (int i = 1; i < count; i += 2)
    if (plan[i].target == rank) receive(&plan[i], sorts[plan[i].comm][rank], 1);
  complete();
  write_received();
}

static void ring(void) {
  const int i = draw(3), right = (ranks_in[i][rank] + 1) % size, left = (ranks_in[i][rank] + size - 1) % size;
  struct Got got, mine;
  sent_from(&mine);
  if (draw(2)) {
    MPI_Sendrecv(&mine, 2, MPI_INT, right, 7, &got, 2, MPI_INT, draw_own(2) ? left : MPI_ANY_SOURCE, 7, comms[i],
                 MPI_STATUS_IGNORE);
  } else {
    got = mine;
    MPI_Sendrecv_replace(&got, 2, MPI_INT, right, 8, left, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
  }
  fprintf(results, "%d %d %d\n", receives++, got.rank, got.send);
}

int main(int count, char** words) {
  char name[32];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(name, sizeof name, "received%d", rank);
  results = fopen(name, "w");
  if (results == NULL || count < 3 || size > kMost) return 1;
  state = strtoull(words[1], NULL, 10);
  own_state = state + 1 + (uint64_t)rank;
  make_comms();
  for (int round = atoi(words[2]); round > 0; --round) {
    exchange();
    MPI_Barrier(MPI_COMM_WORLD);
    ring();
    if (draw_own(4) == 0) receive_none();
    MPI_Barrier(comms[1]);
  }
  fclose(results);
  MPI_Finalize();
  return 0;
}
