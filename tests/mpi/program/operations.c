#include "operations.h"

#include <mpi.h>
#include <signal.h>

enum { MOST_WINDOW = 64, TAG = 7 };

/* A rank's two buffers, with a gap between the messages of a window. */
struct pair {
  struct buffer send, receive;
  struct message sent[MOST_WINDOW], expected[MOST_WINDOW];
};

static int next(const struct job* job) { return (job->rank + 1) % job->ranks; }
static int previous(const struct job* job) { return (job->rank + job->ranks - 1) % job->ranks; }

static struct message message(const struct job* job, int from, int index) {
  const struct message made = {job->seed + 1000u * (unsigned)from + (unsigned)index,
                               job->offset + (size_t)index * (job->size + 3), job->size};
  return made;
}

/* This rank's messages are in the one buffer, and those of `from` are to come into the other. */
static struct pair begin(const struct job* job, int from) {
  const size_t size = 2 * job->offset + (size_t)job->window * (job->size + 3);
  struct pair pair = {
      allocate(job->send_kind, size), allocate(job->receive_kind, size), {{0}}, {{0}}};
  poison(pair.send);
  poison(pair.receive);
  for (int i = 0; i < job->window; ++i) {
    pair.sent[i] = message(job, job->rank, i);
    pair.expected[i] = message(job, from, i);
    put_message(pair.send, pair.sent[i]);
  }
  return pair;
}

/* What was sent must still be there, too. */
static size_t end(const struct job* job, struct pair* pair) {
  const size_t wrong = count_wrong(pair->send, pair->sent, job->window) +
                       count_wrong(pair->receive, pair->expected, job->window);
  release(&pair->send);
  release(&pair->receive);
  return wrong;
}

static unsigned char* at(struct buffer buffer, struct message message) {
  return buffer.address + message.offset;
}

/* Even ranks send first, odd ones receive first. */
static size_t blocking(const struct job* job,
                       int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm)) {
  struct pair pair = begin(job, previous(job));
  for (int i = 0; i < job->window; ++i)
    for (int turn = 0; turn < 2; ++turn)
      if ((job->rank % 2 == 0) == (turn == 0))
        send(at(pair.send, pair.sent[i]), (int)job->size, MPI_BYTE, next(job), TAG, MPI_COMM_WORLD);
      else
        MPI_Recv(at(pair.receive, pair.expected[i]), (int)job->size, MPI_BYTE, previous(job), TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return end(job, &pair);
}

static size_t send_receive(const struct job* job) { return blocking(job, MPI_Send); }
static size_t synchronous(const struct job* job) { return blocking(job, MPI_Ssend); }

static size_t ring(const struct job* job) {
  struct pair pair = begin(job, previous(job));
  for (int i = 0; i < job->window; ++i)
    MPI_Sendrecv(at(pair.send, pair.sent[i]), (int)job->size, MPI_BYTE, next(job), TAG,
                 at(pair.receive, pair.expected[i]), (int)job->size, MPI_BYTE, previous(job), TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return end(job, &pair);
}

static size_t windows(const struct job* job) {
  struct pair pair = begin(job, previous(job));
  MPI_Request requests[2 * MOST_WINDOW];
  for (int i = 0; i < job->window; ++i)
    MPI_Irecv(at(pair.receive, pair.expected[i]), (int)job->size, MPI_BYTE, previous(job), i,
              MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < job->window; ++i)
    MPI_Isend(at(pair.send, pair.sent[i]), (int)job->size, MPI_BYTE, next(job), i, MPI_COMM_WORLD,
              &requests[job->window + i]);
  MPI_Waitall(2 * job->window, requests, MPI_STATUSES_IGNORE);
  return end(job, &pair);
}

static size_t broadcast(const struct job* job) {
  struct pair pair = begin(job, 0);
  const int root = job->rank == 0;
  for (int i = 0; i < job->window; ++i)
    MPI_Bcast(root ? at(pair.send, pair.sent[i]) : at(pair.receive, pair.expected[i]),
              (int)job->size, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (root) poison(pair.receive);
  const size_t wrong = count_wrong(pair.receive, pair.expected, root ? 0 : job->window);
  release(&pair.send);
  release(&pair.receive);
  return wrong;
}

/* The other ranks' windows, exposed for one-sided operations. */
static MPI_Win expose(struct buffer buffer) {
  MPI_Win window;
  MPI_Win_create(buffer.address, (MPI_Aint)buffer.size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  return window;
}

static size_t put_fence(const struct job* job) {
  struct pair pair = begin(job, previous(job));
  MPI_Win window = expose(pair.receive);
  MPI_Win_fence(0, window);
  for (int i = 0; i < job->window; ++i)
    MPI_Put(at(pair.send, pair.sent[i]), (int)job->size, MPI_BYTE, next(job),
            (MPI_Aint)pair.sent[i].offset, (int)job->size, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  return end(job, &pair);
}

static size_t put_flush(const struct job* job) {
  struct pair pair = begin(job, previous(job));
  MPI_Win window = expose(pair.receive);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < job->window; ++i) {
    MPI_Put(at(pair.send, pair.sent[i]), (int)job->size, MPI_BYTE, next(job),
            (MPI_Aint)pair.sent[i].offset, (int)job->size, MPI_BYTE, window);
    MPI_Win_flush(next(job), window);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  return end(job, &pair);
}

static size_t get_flush(const struct job* job) {
  struct pair pair = begin(job, previous(job));
  MPI_Win window = expose(pair.send);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < job->window; ++i)
    MPI_Get(at(pair.receive, pair.expected[i]), (int)job->size, MPI_BYTE, previous(job),
            (MPI_Aint)pair.expected[i].offset, (int)job->size, MPI_BYTE, window);
  MPI_Win_flush_all(window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  return end(job, &pair);
}

/* New memory for every message, which often lies where the last one did. */
static size_t reallocate(const struct job* job) {
  size_t wrong = 0;
  for (int i = 0; i < job->window; ++i) {
    struct job one = *job;
    one.window = 1;
    one.seed = job->seed + 50u * (unsigned)i;
    wrong += ring(&one);
    MPI_Barrier(MPI_COMM_WORLD); /* memory may go only when nobody is to read it any more */
  }
  return wrong;
}

/* The last rank goes while everybody's messages are under way. */
static size_t killed(const struct job* job) {
  struct pair pair = begin(job, previous(job));
  MPI_Request requests[2];
  MPI_Irecv(at(pair.receive, pair.expected[0]), (int)job->size, MPI_BYTE, previous(job), TAG,
            MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(at(pair.send, pair.sent[0]), (int)job->size, MPI_BYTE, next(job), TAG, MPI_COMM_WORLD,
            &requests[1]);
  if (job->rank == job->ranks - 1) raise(SIGKILL);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  return end(job, &pair);
}

const struct named_operation operations[] = {{"send_receive", send_receive},
                                             {"synchronous", synchronous},
                                             {"ring", ring},
                                             {"windows", windows},
                                             {"broadcast", broadcast},
                                             {"put_fence", put_fence},
                                             {"put_flush", put_flush},
                                             {"get_flush", get_flush},
                                             {"reallocate", reallocate},
                                             {"killed", killed},
                                             {NULL, NULL}};
