/* differ: the ranks call MPI_Allreduce with different counts, which MPI forbids, and their handler
   of errors comes back. Prints "error" at each rank that is told of it. */
#include <mpi.h>
#include <stdio.h>

#include "memory.h"

int main(int count, char** arguments) {
  int rank;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  open_driver(rank);
  struct buffer given = allocate(DEVICE, 8192), taken = allocate(DEVICE, 8192);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int result =
      MPI_Allreduce(given.address, taken.address, 100 + rank, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (result != MPI_SUCCESS) printf("error\n");
  fflush(stdout);
  MPI_Request request;
  int waited =
      MPI_Iallreduce(given.address, taken.address, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (waited == MPI_SUCCESS) waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (waited != MPI_SUCCESS) printf("error\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
