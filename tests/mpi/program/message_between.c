/* Rank 0 begins a sum in memory of its GPU and waits for a message, which rank 1 sends once its own
   part, in memory of the host, is over: the sum is MPI's, and has to begin while rank 0 waits. Rank
   0 prints "right" if the sum is. */
#include <mpi.h>
#include <stdio.h>

#include "memory.h"

int main(int count, char** arguments) {
  MPI_Request request;
  int rank = 0, mine, sum = 0, word = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  open_driver(rank);
  const enum kind kind = rank == 0 ? DEVICE : HOST;
  struct buffer given = allocate(kind, sizeof mine), taken = allocate(kind, sizeof sum);
  mine = rank + 1;
  write_bytes(given, 0, (const unsigned char*)&mine, sizeof mine);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iallreduce(given.address, taken.address, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  read_bytes(taken, 0, (unsigned char*)&sum, sizeof sum);
  if (rank == 0 && sum == 3) printf("right\n");
  MPI_Finalize();
  return 0;
}
