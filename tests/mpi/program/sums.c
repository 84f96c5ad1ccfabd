/* Three sums in memory of GPUs and five in memory of the host. Rank 0 prints "right" if they are.
 */
#include <mpi.h>
#include <stdio.h>

#include "memory.h"

static int sum_right(enum kind kind, int rank) {
  const int mine = rank + 1;
  int sum = 0;
  struct buffer given = allocate(kind, sizeof mine), taken = allocate(kind, sizeof sum);
  write_bytes(given, 0, (const unsigned char*)&mine, sizeof mine);
  MPI_Allreduce(given.address, taken.address, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  read_bytes(taken, 0, (unsigned char*)&sum, sizeof sum);
  release(&given);
  release(&taken);
  return sum == 3; /* of two ranks */
}

int main(int count, char** arguments) {
  int rank = 0, right = 1;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  open_driver(rank);
  for (int i = 0; i < 3; ++i) right &= sum_right(DEVICE, rank);
  for (int i = 0; i < 5; ++i) right &= sum_right(HOST, rank);
  if (rank == 0 && right) printf("right\n");
  MPI_Finalize();
  return right ? 0 : 1;
}
