/* nodes host CALLS           sums in memory of the host
   nodes device CALLS         sums in memory of GPUs
   nodes turned CALLS         CALLS sums in memory of the host, then as many in memory of GPUs
   nodes apart CALLS          the same by calls that do not block: some ranks wait for each other in
   a barrier before they wait for the call, some behind that
   nodes freed CALLS          the same on communicators that are freed before the call is over
   nodes again                sums in memory of GPUs until one is an error, and a few more
   nodes until FOLDER ERRORS  sums in memory of GPUs until one is an error. Each rank leaves a file
   in the folder then; rank 0 ends all once there are so many
   nodes leave                sums in memory of GPUs until one is an error, then the program's end
   With "begun" behind that, calls do not block. Rank 0 prints "right" if all sums are. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { ELEMENTS = 3000 };
static int rank, size, begins;
static enum { WAITS, WAITS_APART, FREES } way = WAITS;

/* A rank that waits in the barrier has to do its part of the call there. */
static int wait_for(MPI_Request* request) {
  const int barrier_first = way == WAITS_APART && rank % 2 == 0;
  if (barrier_first) MPI_Barrier(MPI_COMM_WORLD);
  const int result = MPI_Wait(request, MPI_STATUS_IGNORE);
  if (way == WAITS_APART && !barrier_first) MPI_Barrier(MPI_COMM_WORLD);
  return result;
}

static int all_reduce(const void* given, void* taken) {
  if (!begins) return MPI_Allreduce(given, taken, ELEMENTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request;
  if (way == FREES) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int result = MPI_Iallreduce(given, taken, ELEMENTS, MPI_INT, MPI_SUM, comm, &request);
  if (way == FREES) MPI_Comm_free(&comm);
  return result == MPI_SUCCESS ? wait_for(&request) : result;
}

static int sum(struct buffer given, struct buffer taken, int* right) {
  int numbers[ELEMENTS];
  for (int i = 0; i < ELEMENTS; ++i) numbers[i] = rank + i;
  write_bytes(given, 0, (unsigned char*)numbers, sizeof numbers);
  const int result = all_reduce(given.address, taken.address);
  if (result != MPI_SUCCESS) return result;
  read_bytes(taken, 0, (unsigned char*)numbers, sizeof numbers);
  for (int i = 0; i < ELEMENTS; ++i)
    if (numbers[i] != size * i + size * (size - 1) / 2) *right = 0;
  return result;
}

static int sums(enum kind kind, int calls) {
  struct buffer given = allocate(kind, 4 * ELEMENTS), taken = allocate(kind, 4 * ELEMENTS);
  int right = 1;
  for (int i = 0; i < calls; ++i) sum(given, taken, &right);
  release(&given);
  release(&taken);
  return right;
}

static int count_files(const char* folder) {
  int files = 0;
  for (int i = 0; i < size; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", folder, i);
    files += access(path, F_OK) == 0;
  }
  return files;
}

static void sum_until_error(void) {
  struct buffer given = allocate(DEVICE, 4 * ELEMENTS), taken = allocate(DEVICE, 4 * ELEMENTS);
  int right = 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (sum(given, taken, &right) == MPI_SUCCESS) {
  }
}

/* Later calls are errors at all ranks, and those with memory of the host are MPI's. */
static int again_after_error(void) {
  struct buffer given = allocate(DEVICE, 4 * ELEMENTS), taken = allocate(DEVICE, 4 * ELEMENTS);
  int right = 1, errors = 0, number = rank, all = 0;
  sum_until_error();
  for (int i = 0; i < 5; ++i) errors += sum(given, taken, &right) != MPI_SUCCESS;
  right &= MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
  right &= all == size * (size - 1) / 2;
  if (errors == 5 && right) printf("rank %d is right\n", rank);
  fflush(stdout);
  MPI_Finalize();
  return 5;
}

static void until_error(const char* folder, int errors) {
  sum_until_error();
  char path[4096];
  snprintf(path, sizeof path, "%s/%d", folder, rank);
  fclose(fopen(path, "w"));
  if (rank != 0) pause();
  while (count_files(folder) < errors) usleep(1000);
  usleep(300000); /* the launcher drops output of killed ranks that it has not read */
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  open_driver(rank);
  if (strcmp(arguments[1], "apart") == 0) way = WAITS_APART;
  if (strcmp(arguments[1], "freed") == 0) way = FREES;
  begins = way != WAITS || strcmp(arguments[count - 1], "begun") == 0;
  if (strcmp(arguments[1], "until") == 0) until_error(arguments[2], atoi(arguments[3]));
  if (strcmp(arguments[1], "leave") == 0) {
    sum_until_error();
    MPI_Finalize();
    return 5;
  }
  if (strcmp(arguments[1], "again") == 0) return again_after_error();
  const int calls = atoi(arguments[2]);
  int right = 1;
  if (strcmp(arguments[1], "device") != 0 && way == WAITS) right &= sums(HOST, calls);
  if (strcmp(arguments[1], "host") != 0) right &= sums(DEVICE, calls);
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
