/* As Horovod calls MPI: tensors come in an order of each rank's own; a thread agrees with the other
   ranks which are ready at all, in memory of the host, copies several into one fusion buffer, sums
   that in place, and copies them back. Rank 0 prints "right" if every element was. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { TENSORS = 24, STEPS = 4, FUSION = 1 << 18 /* elements */, MOST = 40000 };

static int rank, size;
static int counts[TENSORS];
static struct buffer tensors[TENSORS], fusion;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_ready[TENSORS]; /* guarded by the mutex */
static int all_right = 1;
static int values[MOST];

static int value(int tensor, int step, int of_rank) { return 100 * tensor + 10 * step + of_rank; }

/* The bytes of both go through the host: what matters is who calls what when. */
static void copy(struct buffer to, size_t at, struct buffer from, size_t begin, size_t bytes) {
  unsigned char* const piece = malloc(bytes);
  read_bytes(from, begin, piece, bytes);
  write_bytes(to, at, piece, bytes);
  free(piece);
}

static void reduce_together(const int* chosen, int many) {
  size_t at = 0;
  for (int i = 0; i < many; ++i) {
    const size_t bytes = (size_t)counts[chosen[i]] * sizeof(int);
    copy(fusion, at, tensors[chosen[i]], 0, bytes);
    at += bytes;
  }
  MPI_Allreduce(MPI_IN_PLACE, fusion.address, (int)(at / sizeof(int)), MPI_INT, MPI_SUM,
                MPI_COMM_WORLD);
  at = 0;
  for (int i = 0; i < many; ++i) {
    const size_t bytes = (size_t)counts[chosen[i]] * sizeof(int);
    copy(tensors[chosen[i]], 0, fusion, at, bytes);
    at += bytes;
  }
}

static void reduce_what_is_ready(int* done) {
  int mine[TENSORS], everywhere[TENSORS], chosen[TENSORS], many = 0;
  size_t elements = 0;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < TENSORS; ++i) mine[i] = is_ready[i] && !done[i];
  pthread_mutex_unlock(&mutex);
  MPI_Allreduce(mine, everywhere, TENSORS, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  for (int i = 0; i < TENSORS; ++i) {
    if (!everywhere[i] || elements + (size_t)counts[i] > FUSION) continue;
    elements += (size_t)counts[i];
    chosen[many++] = i;
    done[i] = 1;
  }
  if (many > 0) reduce_together(chosen, many);
}

static void* reduce_all(void* unused) {
  int done[TENSORS] = {0}, left = TENSORS;
  open_driver(rank);
  while (left > 0) {
    reduce_what_is_ready(done);
    left = TENSORS;
    for (int i = 0; i < TENSORS; ++i) left -= done[i];
  }
  return unused;
}

static void compute(int step) {
  for (int i = 0; i < TENSORS; ++i) {
    const int tensor = (i * 7 + rank * 5 + step) % TENSORS;
    for (int j = 0; j < counts[tensor]; ++j) values[j] = value(tensor, step, rank) + j;
    write_bytes(tensors[tensor], 0, (const unsigned char*)values,
                (size_t)counts[tensor] * sizeof(int));
    pthread_mutex_lock(&mutex);
    is_ready[tensor] = 1;
    pthread_mutex_unlock(&mutex);
  }
}

static void check(int step) {
  for (int i = 0; i < TENSORS; ++i) {
    read_bytes(tensors[i], 0, (unsigned char*)values, (size_t)counts[i] * sizeof(int));
    for (int j = 0; j < counts[i]; ++j)
      all_right &= values[j] == size * value(i, step, 0) + size * (size - 1) / 2 + size * j;
  }
}

int main(int count, char** arguments) {
  int provided = 0, right = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  open_driver(rank);
  fusion = allocate(DEVICE, FUSION * sizeof(int));
  for (int i = 0; i < TENSORS; ++i) {
    counts[i] = 1 + i * 1237 % MOST;
    tensors[i] = allocate(DEVICE, (size_t)counts[i] * sizeof(int));
  }
  for (int step = 0; step < STEPS; ++step) {
    pthread_t background;
    memset(is_ready, 0, sizeof is_ready);
    pthread_create(&background, NULL, reduce_all, NULL);
    compute(step);
    pthread_join(background, NULL);
    check(step);
  }
  MPI_Allreduce(&all_right, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && right) printf("right\n");
  MPI_Finalize();
  return right ? 0 : 1;
}
