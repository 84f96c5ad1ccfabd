/* A Jacobi solver (stencil.h) over the ranks. Rank g of n has `rows` rows of the whole and a halo
   above and one below them: the last row of the rank above, the first one of the rank below. Above
   the first rank is the last one. There are two such arrays, one after the other in one memory:

     | halo | row 1 | ... | row `rows` | halo | the same of the other array |

   An iteration makes one array of the other. Then each rank sends its first row up and its last row
   down, and receives its halos: two messages out and two in, as long as a row. */
#ifndef POLYPATH_MPI_BENCH_JACOBI_H
#define POLYPATH_MPI_BENCH_JACOBI_H

#include <stdbool.h>

#include "check.h"
#include "jacobi_kernel.h"
#include "operation.h"
#include "stencil.h"

enum {
  HALO_STEP = 16, /* bytes: rows begin at words that the kernel takes */
  HALOS = 2,      /* that a rank sends in an iteration */
};

struct Jacobi {
  const Memory* memory;
  const JacobiKernel* kernel; /* NULL: the host computes */
  Grid grid;
  size_t rows;         /* of this rank */
  size_t first;        /* the ring's row that is its row 1 */
  unsigned char* base; /* of the arrays */
  float* window;       /* four rows of host memory, where the host computes; else NULL */
  int latest;          /* the array that is up to date */
};
typedef struct Jacobi Jacobi;

/* Bytes of memory that a rank needs. */
size_t jacobi_bytes(size_t halo, size_t rows);

/* A solver on this rank's memory with halos of exchange->bytes, at the first values. The memory
   must outlive it. */
Jacobi open_jacobi(const Exchange* exchange, const Memory* memory, void* base, size_t rows,
                   const JacobiKernel* kernel);

void close_jacobi(Jacobi* jacobi);

/* Writes the first values again. This rank alone does; others must not be within an iteration. */
void start_over(Jacobi* jacobi);

/* "gpu" or "host": the device that computes. */
const char* jacobi_kernel_name(const Jacobi* jacobi);

/* Where row `row` of an array begins; 0 is the halo above, rows + 1 the one below. */
unsigned char* jacobi_row(const Jacobi* jacobi, int array, size_t row);

/* How many iterations from the first values on are compared: at most 20, and fewer of large grids,
   whose serial solution would take longer than what is measured. */
int checked_iterations(const Jacobi* jacobi);

/* Starts over, makes the checked iterations, and compares each of this rank's elements, halos
   included, with the serial solver's, bit by bit; an element that differs is four wrong bytes, and
   stderr says where. Every rank calls it together and gets the same result. */
Checked check_jacobi(Exchange* exchange);

#endif
