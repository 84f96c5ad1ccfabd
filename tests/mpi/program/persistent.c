/* persistent MEMORY [large]
   Persistent collective calls in memory of GPUs (device), of the host (host), or of either (mixed:
   that of rank 0 is the host's), with counts of 64 bits where there are such functions (large).
   Started many times, by each rank in an order of its own. Rank 0 prints "right" if every element
   was. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { SUM, GATHER, BROADCAST, LOGIC, CALLS, ROUNDS = 12, COUNT = 3000, MOST_RANKS = 8 };

static struct buffer given[CALLS], taken[CALLS];
static int values[COUNT * MOST_RANKS];

static void fill(struct buffer buffer, int first) {
  for (int i = 0; i < COUNT; ++i) values[i] = first + i;
  write_bytes(buffer, 0, (const unsigned char*)values, COUNT * sizeof(int));
}

static int value(int call, int rank, int round) { return 1000 * call + 7 * rank + round; }

static int are(struct buffer buffer, int part, int first, int step) {
  read_bytes(buffer, (size_t)part * COUNT * sizeof(int), (unsigned char*)values,
             COUNT * sizeof(int));
  for (int i = 0; i < COUNT; ++i)
    if (values[i] != first + step * i) return 0;
  return 1;
}

static int is_right(int rank, int size, int round) {
  const int ranks_sum = size * (size - 1) / 2;
  int right = are(taken[SUM], 0, size * value(SUM, 0, round) + 7 * ranks_sum, size);
  for (int part = 0; part < size; ++part)
    right &= are(taken[GATHER], part, value(GATHER, part, round), 1);
  right &= are(rank == 1 ? given[BROADCAST] : taken[BROADCAST], 0, value(BROADCAST, 1, round), 1);
  read_bytes(taken[LOGIC], 0, (unsigned char*)values, COUNT * sizeof(int));
  for (int i = 0; i < COUNT; ++i) right &= values[i] == 1; /* none is 0 */
  return right;
}

static void make(MPI_Request* requests, int rank) {
  MPI_Allreduce_init(given[SUM].address, taken[SUM].address, COUNT, MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[SUM]);
  MPI_Allgather_init(given[GATHER].address, COUNT, MPI_INT, taken[GATHER].address, COUNT, MPI_INT,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[GATHER]);
  MPI_Bcast_init(rank == 1 ? given[BROADCAST].address : taken[BROADCAST].address, COUNT, MPI_INT, 1,
                 MPI_COMM_WORLD, MPI_INFO_NULL, &requests[BROADCAST]);
  MPI_Allreduce_init(given[LOGIC].address, taken[LOGIC].address, COUNT, MPI_INT, MPI_LAND,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[LOGIC]);
}

/* Not every MPI has these functions, and fewer have them in their headers. */
static int has_large(void) { return dlsym(RTLD_DEFAULT, "MPI_Allreduce_init_c") != NULL; }

static void make_large(MPI_Request* requests, int rank) {
  typedef int reduction(const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                        MPI_Request*);
  typedef int gathering(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                        MPI_Comm, MPI_Info, MPI_Request*);
  typedef int broadcasting(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
  reduction* reduce = (reduction*)dlsym(RTLD_DEFAULT, "MPI_Allreduce_init_c");
  gathering* gather = (gathering*)dlsym(RTLD_DEFAULT, "MPI_Allgather_init_c");
  broadcasting* broadcast = (broadcasting*)dlsym(RTLD_DEFAULT, "MPI_Bcast_init_c");
  reduce(given[SUM].address, taken[SUM].address, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
         MPI_INFO_NULL, &requests[SUM]);
  gather(given[GATHER].address, COUNT, MPI_INT, taken[GATHER].address, COUNT, MPI_INT,
         MPI_COMM_WORLD, MPI_INFO_NULL, &requests[GATHER]);
  broadcast(rank == 1 ? given[BROADCAST].address : taken[BROADCAST].address, COUNT, MPI_INT, 1,
            MPI_COMM_WORLD, MPI_INFO_NULL, &requests[BROADCAST]);
  reduce(given[LOGIC].address, taken[LOGIC].address, COUNT, MPI_INT, MPI_LAND, MPI_COMM_WORLD,
         MPI_INFO_NULL, &requests[LOGIC]);
}

/* One after the other, from another one on at each rank, or all at once. */
static void start(MPI_Request* requests, int rank, int round) {
  if (round % 4 == 3) MPI_Startall(CALLS, requests);
  else
    for (int i = 0; i < CALLS; ++i) MPI_Start(&requests[(i + rank * round) % CALLS]);
}

static void finish(MPI_Request* requests, int round) {
  int which;
  if (round % 3 == 0) MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
  else if (round % 3 == 1)
    for (int i = 0; i < CALLS; ++i) MPI_Wait(&requests[CALLS - 1 - i], MPI_STATUS_IGNORE);
  else
    for (int i = 0; i < CALLS; ++i) MPI_Waitany(CALLS, requests, &which, MPI_STATUS_IGNORE);
}

int main(int count, char** arguments) {
  MPI_Request requests[CALLS];
  int rank = 0, size = 1, right = 1, all_right = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  open_driver(rank);
  const char* const memory = arguments[1];
  const int on_host = strcmp(memory, "host") == 0 || (strcmp(memory, "mixed") == 0 && rank == 0);
  for (int i = 0; i < CALLS; ++i) {
    given[i] = allocate(on_host ? HOST : DEVICE, COUNT * sizeof(int));
    taken[i] = allocate(on_host ? HOST : DEVICE, (size_t)size * COUNT * sizeof(int));
  }
  if (count > 2 && has_large()) make_large(requests, rank);
  else make(requests, rank);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < CALLS; ++i) fill(given[i], value(i, rank, round) + (i == LOGIC));
    start(requests, rank, round);
    finish(requests, round);
    right &= is_right(rank, size, round);
  }
  for (int i = 0; i < CALLS; ++i) MPI_Request_free(&requests[i]);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
