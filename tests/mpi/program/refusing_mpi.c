/* To be preloaded: an MPI that fails to make the first window at its last rank. */
#include <mpi.h>

static int is_refused(void) {
  static int times = 0;
  int rank = 0, size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return times++ == 0 && rank == size - 1;
}

int MPI_Win_create(void* memory, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* window) {
  const int result = PMPI_Win_create(memory, bytes, unit, info, comm, window);
  return is_refused() ? MPI_ERR_NO_MEM : result;
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  const int result = PMPI_Win_create_dynamic(info, comm, window);
  return is_refused() ? MPI_ERR_NO_MEM : result;
}
