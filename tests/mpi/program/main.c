/* exchange OPERATION SEND_KIND RECEIVE_KIND WINDOW SIZE...
   Does the operation once for each size, among all ranks, and compares every byte. Rank 0 prints
   "right N" with the number of bytes that each rank was sent; exit status 1 if a byte is wrong
   anywhere. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"

static operation find_operation(const char* name) {
  for (const struct named_operation* known = operations; known->name != NULL; ++known)
    if (strcmp(known->name, name) == 0) return known->run;
  fprintf(stderr, "no operation %s\n", name);
  exit(2);
}

static enum kind find_kind(const char* name) {
  if (strcmp(name, "device") == 0) return DEVICE;
  return strcmp(name, "managed") == 0 ? MANAGED : HOST;
}

static int local_rank(void) {
  MPI_Comm node;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

static void begin(int* count, char*** arguments, struct job* job) {
  MPI_Init(count, arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job->ranks);
  open_driver(local_rank());
}

int main(int count, char** arguments) {
  struct job job = {0};
  unsigned long long wrong = 0, all_wrong = 0, sent = 0;
  begin(&count, &arguments, &job);
  if (count < 6) return 2;
  const operation run = find_operation(arguments[1]);
  job.send_kind = find_kind(arguments[2]);
  job.receive_kind = find_kind(arguments[3]);
  job.window = atoi(arguments[4]);
  for (int i = 5; i < count; ++i) {
    job.size = strtoull(arguments[i], NULL, 10);
    job.offset = 2u * (unsigned)i + 1;
    job.seed = 10000u * (unsigned)i;
    const size_t bad = run(&job);
    if (bad > 0) printf("rank %d, %s of %zu bytes\n", job.rank, arguments[1], job.size);
    wrong += bad;
    sent += job.size * (size_t)job.window;
  }
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0 && all_wrong == 0) printf("right %llu\n", sent);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
