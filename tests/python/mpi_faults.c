/* An MPI that makes mistakes, for tests: preloaded, it stands before the real one (PMPI). FAULT
   says which mistake. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int fault_is(const char* name) {
  const char* const chosen = getenv("FAULT");
  return chosen != NULL && strcmp(chosen, name) == 0;
}

/* The longest message that is left alone: acknowledgements arrive as they should. */
enum { SHORT = 4 };

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm ranks,
             MPI_Status* status) {
  unsigned char* const bytes = buffer;
  char* scratch;
  int result;
  if (count > SHORT && fault_is("lose")) { /* nothing arrives */
    scratch = malloc((size_t)count);
    result = PMPI_Recv(scratch, count, type, source, tag, ranks, status);
    free(scratch);
    return result;
  }
  result = PMPI_Recv(buffer, count, type, source, tag, ranks, status);
  if (count > SHORT && fault_is("flip")) bytes[count - 1] ^= 1;
  if (count > SHORT && fault_is("overrun")) bytes[count] ^= 1;
  if (count > SHORT && fault_is("underrun")) bytes[-1] ^= 1;
  return result;
}

/* What is received at last, unless it is kept from arriving. The process ends soon: what these
   functions allocate stays. */
int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm ranks,
              MPI_Request* request) {
  void* const chosen = fault_is("lose all") ? malloc((size_t)count) : buffer;
  return PMPI_Irecv(chosen, count, type, source, tag, ranks, request);
}

static const void* with_a_flipped_byte(const void* buffer, int count) {
  unsigned char* const copy = malloc((size_t)count);
  memcpy(copy, buffer, (size_t)count);
  copy[count - 1] ^= 1;
  return copy;
}

/* Every message of a window is the one before it, or each has a wrong byte. */
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
              MPI_Comm ranks, MPI_Request* request) {
  static const void* before = NULL;
  const void* chosen = fault_is("repeat") && before != NULL ? before : buffer;
  before = buffer;
  if (fault_is("flip all")) chosen = with_a_flipped_byte(buffer, count);
  return PMPI_Isend(chosen, count, type, destination, tag, ranks, request);
}

/* One-sided messages stay away. */
int MPI_Put(const void* from, int count, MPI_Datatype type, int target, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  if (fault_is("no put")) return MPI_SUCCESS;
  return PMPI_Put(from, count, type, target, displacement, target_count, target_type, window);
}

/* Collective calls of more than SHORT bytes: the last byte is another, or the result is what was
   there. */
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm ranks) {
  unsigned char* const bytes = receive;
  int size = 0;
  int result = MPI_SUCCESS;
  MPI_Type_size(type, &size);
  size *= count;
  if (size > 16 && fault_is("lose sums")) return MPI_Barrier(ranks);
  result = PMPI_Allreduce(send, receive, count, type, op, ranks);
  if (size > 16 && fault_is("flip sums")) bytes[size - 1] ^= 1;
  return result;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm ranks) {
  unsigned char* const bytes = buffer;
  int size = 0, rank = 0;
  MPI_Type_size(type, &size);
  MPI_Comm_rank(ranks, &rank);
  size *= count;
  if (size > 16 && fault_is("lose sums")) return MPI_Barrier(ranks);
  const int result = PMPI_Bcast(buffer, count, type, root, ranks);
  if (size > 16 && rank != root && fault_is("flip sums")) bytes[size - 1] ^= 1;
  return result;
}
