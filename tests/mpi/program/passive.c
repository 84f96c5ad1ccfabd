/* A target that calls nothing of MPI, and calls that are wrong.

   passive: rank 1 waits for a word in its own memory of a GPU, which rank 0 puts there. */
#include <mpi.h>
#include <stdio.h>

#include "memory.h"

enum { BYTES = 4096, FLAG = 77 };

static struct buffer part;

/* In the middle of the window. */
static int flag_here(void) {
  int found = 0;
  read_bytes(part, BYTES / 2, (unsigned char*)&found, sizeof found);
  return found;
}

static int put_flag(MPI_Win window) {
  const int flag = FLAG;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
  MPI_Put(&flag, 1, MPI_INT, 1, BYTES / 2, 1, MPI_INT, window);
  MPI_Win_flush(1, window);
  MPI_Win_unlock(1, window);
  return 1;
}

/* A lock that this rank has, a rank that there is not; nothing, beyond the window. */
static int is_answered(MPI_Win window) {
  const int flag = FLAG;
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  const int again = MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
  const int nobody = MPI_Put(&flag, 1, MPI_INT, 1 << 20, 0, 1, MPI_INT, window);
  const int nothing = MPI_Put(&flag, 0, MPI_INT, 1, 2 * BYTES, 0, MPI_INT, window);
  MPI_Win_unlock(1, window);
  return again != MPI_SUCCESS && nobody != MPI_SUCCESS && nothing == MPI_SUCCESS;
}

static int is_refused(MPI_Win window) {
  const int flag = FLAG;
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
  const int result = MPI_Put(&flag, 1, MPI_INT, 1, BYTES - 2, 1, MPI_INT, window);
  const int nowhere = MPI_Put(&flag, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
  MPI_Win_unlock(1, window);
  return result != MPI_SUCCESS && nowhere == MPI_SUCCESS;
}

int main(int count, char** arguments) {
  int rank = 0, right = 1, all_right = 0;
  MPI_Win window;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  open_driver(rank);
  const unsigned char zeros[BYTES] = {0};
  part = allocate(DEVICE, BYTES);
  write_bytes(part, 0, zeros, BYTES);
  MPI_Win_create(part.address, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 0) right = put_flag(window) && is_refused(window) && is_answered(window);
  else
    while (flag_here() != FLAG) {
    }
  MPI_Win_free(&window);
  release(&part);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right) printf("right\n");
  MPI_Finalize();
  return all_right ? 0 : 1;
}
