/* nodes host CALLS           sums in memory of the host
   nodes device CALLS         sums in memory of GPUs
   nodes turned CALLS         CALLS sums in memory of the host, then as many in memory of GPUs
   nodes until FOLDER ERRORS  sums in memory of GPUs until one is an error. Each rank leaves a file
   in the folder then; rank 0 ends all once there are so many Rank 0 prints "right" if all sums are.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { ELEMENTS = 3000 };
static int rank, size;

static int sum(struct buffer given, struct buffer taken, int* right) {
  int numbers[ELEMENTS];
  for (int i = 0; i < ELEMENTS; ++i) numbers[i] = rank + i;
  write_bytes(given, 0, (unsigned char*)numbers, sizeof numbers);
  const int result =
      MPI_Allreduce(given.address, taken.address, ELEMENTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
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
  if (strcmp(arguments[1], "until") == 0) until_error(arguments[2], atoi(arguments[3]));
  if (strcmp(arguments[1], "leave") == 0) {
    sum_until_error();
    MPI_Finalize();
    return 5;
  }
  const int calls = atoi(arguments[2]);
  int right = 1;
  if (strcmp(arguments[1], "device") != 0) right &= sums(HOST, calls);
  if (strcmp(arguments[1], "host") != 0) right &= sums(DEVICE, calls);
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
