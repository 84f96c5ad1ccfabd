/* Windows that one rank cannot make: every rank gets an error, none waits for ever, and a window
   that is made afterwards is right.

   refused_window HOW: the last rank passes a displacement unit of 0 ("unit"), a negative size
   ("size"), a null pointer for the window ("window", "dynamic"); "elsewhere": it passes nothing
   wrong, MPI or Polypath fails there ("elsewhere dynamic" by the second word). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

enum { BYTES = 4096 };

static struct buffer part;

static int make(const char* how, int is_wrong, void* memory, MPI_Comm comm, MPI_Win* window) {
  const int unit = is_wrong && strcmp(how, "unit") == 0 ? 0 : 1;
  const MPI_Aint bytes = is_wrong && strcmp(how, "size") == 0 ? -1 : BYTES;
  const int is_null = strcmp(how, "window") == 0 || strcmp(how, "dynamic") == 0;
  if (is_wrong && is_null) window = NULL;
  if (strstr(how, "dynamic") != NULL) return MPI_Win_create_dynamic(MPI_INFO_NULL, comm, window);
  return MPI_Win_create(memory, bytes, unit, MPI_INFO_NULL, comm, window);
}

static int class_of(int error) {
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  return class;
}

/* What MPI says of it, of one rank and memory of the host. */
static int class_by_mpi(const char* how) {
  static unsigned char memory[BYTES];
  MPI_Comm alone;
  MPI_Win window;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  const int class = class_of(make(how, 1, memory, alone, &window));
  MPI_Comm_free(&alone);
  return class;
}

/* Of the next rank's first word. */
static int is_right_afterwards(int rank, int size) {
  const int target = (rank + 1) % size, value = 70 + rank;
  int found = 0;
  MPI_Win window;
  if (make("", 0, part.address, MPI_COMM_WORLD, &window) != MPI_SUCCESS) return 0;
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  read_bytes(part, 0, (unsigned char*)&found, sizeof found);
  MPI_Win_free(&window);
  return found == 70 + (rank + size - 1) % size;
}

int main(int count, char** arguments) {
  int rank = 0, size = 0, right = 0, all_right = 0;
  MPI_Init(&count, &arguments);
  if (count < 2) return 2;
  const char* const how = arguments[1];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  open_driver(rank);
  part = allocate(DEVICE, BYTES);
  MPI_Win window;
  const int is_wrong = rank == size - 1 && strncmp(how, "elsewhere", 9) != 0;
  const int error = class_of(make(how, is_wrong, part.address, MPI_COMM_WORLD, &window));
  right = is_wrong ? error == class_by_mpi(how) : error != MPI_SUCCESS;
  if (!right) printf("rank %d: the error is of class %d\n", rank, error);
  right &= is_right_afterwards(rank, size);
  release(&part);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
