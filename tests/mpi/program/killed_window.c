/* Numbers counted up in a window on a GPU, until rank 1 is killed while it has the lock. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

#include "memory.h"

enum { CALLS = 20, LAST_OF_RANK_1 = 7, BYTES = 4096 };

int main(int count, char** arguments) {
  const int one = 1;
  int rank = 0, found;
  MPI_Win window;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  open_driver(rank);
  struct buffer part = allocate(DEVICE, BYTES);
  MPI_Win_create(part.address, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int i = 0; i < CALLS; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Fetch_and_op(&one, &found, MPI_INT, 0, 0, MPI_SUM, window);
    if (rank == 1 && i == LAST_OF_RANK_1) raise(SIGKILL);
    MPI_Win_unlock(0, window);
    if (rank != 1 && i == LAST_OF_RANK_1) i = 0; /* until rank 1 is gone */
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  printf("end\n");
  return 0;
}
