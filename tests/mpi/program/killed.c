/* killed [begun]
   Sums in memory of GPUs, by calls that do not block if they are begun, until rank 1 is killed in
   the middle of one. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#include "memory.h"

enum { CALLS = 20, LAST_OF_RANK_1 = 7, BYTES = 1 << 20 };

int main(int count, char** arguments) {
  int rank = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  open_driver(rank);
  struct buffer given = allocate(DEVICE, BYTES), taken = allocate(DEVICE, BYTES);
  for (int i = 0; i < CALLS; ++i) {
    if (rank == 1 && i == LAST_OF_RANK_1) raise(SIGKILL);
    MPI_Request request;
    if (count == 1) {
      MPI_Allreduce(given.address, taken.address, BYTES / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else {
      MPI_Iallreduce(given.address, taken.address, BYTES / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                     &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  printf("end\n");
  return 0;
}
