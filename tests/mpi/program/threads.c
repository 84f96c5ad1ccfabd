/* threads [late]
   Collective calls of several threads at once, each with a communicator of its own, as
   MPI_THREAD_MULTIPLE allows. Some block and some do not, so that ranks begin the calls of
   different communicators in different orders. Memory is freed by the threads, while others call,
   or `late`, when all have ended: cuMemFree waits for the GPU, and so for other ranks. Rank 0
   prints "right" if every element was, or "none" if this MPI has no threads. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

enum { THREADS = 4, ROUNDS = 12, MOST = 60000 };

struct worker {
  MPI_Comm comm;
  int number, rank, size, right, frees_late;
  unsigned state; /* the same at all ranks */
  struct buffer given, taken;
  int *values, *sums;
};

static unsigned chance(struct worker* worker, unsigned below) {
  worker->state = worker->state * 1103515245u + 12345u;
  return (worker->state >> 16) % below;
}

static void one_round(struct worker* w, int round) {
  const int count = 1 + (int)chance(w, MOST), waits = (int)chance(w, 2);
  for (int i = 0; i < count; ++i) w->values[i] = w->rank + round + i;
  write_bytes(w->given, 0, (const unsigned char*)w->values, (size_t)count * sizeof(int));
  if (waits) {
    MPI_Request request;
    MPI_Iallreduce(w->given.address, w->taken.address, count, MPI_INT, MPI_SUM, w->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Allreduce(w->given.address, w->taken.address, count, MPI_INT, MPI_SUM, w->comm);
  }
  read_bytes(w->taken, 0, (unsigned char*)w->sums, (size_t)count * sizeof(int));
  for (int i = 0; i < count; ++i)
    w->right &= w->sums[i] == w->size * (w->size - 1) / 2 + w->size * (round + i);
}

static void put_away(struct worker* w) {
  release(&w->given);
  release(&w->taken);
  free(w->values);
  free(w->sums);
}

static void* work(void* argument) {
  struct worker* const w = argument;
  open_driver(w->rank);
  w->given = allocate(DEVICE, MOST * sizeof(int));
  w->taken = allocate(DEVICE, MOST * sizeof(int));
  w->values = malloc(MOST * sizeof(int));
  w->sums = malloc(MOST * sizeof(int));
  for (int round = 0; round < ROUNDS; ++round) one_round(w, round);
  if (!w->frees_late) put_away(w);
  return NULL;
}

int main(int count, char** arguments) {
  int provided = 0, rank = 0, size = 1, right = 1, all_right = 0;
  struct worker workers[THREADS];
  pthread_t threads[THREADS];
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("none\n");
    MPI_Finalize();
    return 0;
  }
  open_driver(rank);
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (struct worker){.number = i,
                                 .rank = rank,
                                 .size = size,
                                 .right = 1,
                                 .state = (unsigned)i * 77u + 5u,
                                 .frees_late = count > 1};
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, &workers[i]);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) right &= workers[i].right;
  for (int i = 0; i < THREADS; ++i)
    if (workers[i].frees_late) put_away(&workers[i]);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&workers[i].comm);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
