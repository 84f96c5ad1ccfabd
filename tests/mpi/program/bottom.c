/* MPI_BOTTOM with types that have the addresses of memory of GPUs, in collectives and one-sided
   calls. With "apart" the type has memory of two allocations: an error, and no crash. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

enum { BYTES = 4096, INTS = BYTES / (int)sizeof(int), PART = 6, GAP = 10 };

static int rank, size, right = 1;

static void check(int is_right, const char* what) {
  if (!is_right) printf("rank %d: %s is wrong\n", rank, what);
  right &= is_right;
}

/* Two blocks of three ints, with a gap between them, at two addresses. */
static MPI_Datatype type_at(const unsigned char* first, const unsigned char* second) {
  const int lengths[] = {PART / 2, PART / 2};
  MPI_Aint at[2];
  MPI_Datatype type;
  MPI_Get_address(first, &at[0]);
  MPI_Get_address(second, &at[1]);
  MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static struct buffer filled(enum kind kind, int first) {
  int values[INTS];
  for (int i = 0; i < INTS; ++i) values[i] = first + i;
  struct buffer made = allocate(kind, BYTES);
  write_bytes(made, 0, (unsigned char*)values, BYTES);
  return made;
}

/* The ints of the type's blocks are from `first` on, and no others have changed. */
static int has(struct buffer buffer, int first, int others) {
  int found[INTS];
  read_bytes(buffer, 0, (unsigned char*)found, BYTES);
  for (int i = 0; i < INTS; ++i) {
    const int in_first = i < PART / 2, in_second = i >= GAP && i < GAP + PART / 2;
    const int wanted = in_first ? first + i : in_second ? first + PART / 2 + i - GAP : others + i;
    if (found[i] != wanted) return 0;
  }
  return 1;
}

static MPI_Datatype type_in(struct buffer buffer) {
  return type_at(buffer.address, buffer.address + GAP * sizeof(int));
}

static void collectives(void) {
  struct buffer buffer = filled(DEVICE, 1000 * rank), all = filled(HOST, 0);
  MPI_Datatype type = type_in(buffer);
  int own[PART];
  for (int i = 0; i < PART; ++i) own[i] = 70 + i;
  if (rank == 0) MPI_Bcast(own, PART, MPI_INT, 0, MPI_COMM_WORLD);
  else MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
  if (rank > 0) check(has(buffer, 70, 1000 * rank), "a broadcast");
  int* const gathered = (int*)(void*)all.address;
  MPI_Allgather(MPI_BOTTOM, 1, type, gathered, PART, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < PART; ++i) check(gathered[PART * (size - 1) + i] == 70 + i, "an allgather");
  MPI_Request request;
  MPI_Ibcast(MPI_BOTTOM, 1, type, size - 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(has(buffer, 70, 1000 * rank), "a non-blocking broadcast");
  MPI_Type_free(&type);
  release(&buffer), release(&all);
}

/* To the next rank, and from there. */
static void one_sided(enum kind kind) {
  struct buffer part = filled(kind, 0), own = filled(DEVICE, 500);
  MPI_Datatype type = type_in(own);
  MPI_Win window;
  int found[INTS];
  MPI_Win_create(part.address, BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(MPI_BOTTOM, 1, type, (rank + 1) % size, 40, PART, MPI_INT, window);
  MPI_Win_fence(0, window);
  read_bytes(part, 0, (unsigned char*)found, BYTES);
  check(found[39] == 39 && found[40] == 500 && found[43] == 500 + GAP && found[46] == 46, "a put");
  MPI_Get(MPI_BOTTOM, 1, type, (rank + 1) % size, 80, PART, MPI_INT, window);
  MPI_Win_fence(0, window);
  check(has(own, 80, 500), "a get");
  MPI_Win_free(&window);
  MPI_Type_free(&type);
  release(&part), release(&own);
}

static void apart(void) {
  struct buffer first = filled(DEVICE, 0), second = filled(HOST, 0);
  MPI_Datatype type = type_at(first.address, second.address);
  int gathered[64 * PART];
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int error = MPI_Allgather(MPI_BOTTOM, 1, type, gathered, PART, MPI_INT, MPI_COMM_SELF);
  check(error != MPI_SUCCESS, "a type of two allocations");
  MPI_Type_free(&type);
  release(&first), release(&second);
}

int main(int count, char** arguments) {
  int all_right = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  open_driver(rank);
  if (count > 1) {
    apart();
  } else {
    collectives();
    one_sided(HOST);
    one_sided(DEVICE);
  }
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
