/* A Jacobi solver: the 5-point stencil on a grid of float32 whose rows form a ring.

     b(r, c) = (((a(r, c-1) + a(r, c+1)) + a(r-1, c)) + a(r+1, c)) / 4     0 < c < width - 1
     b(r, c) = a(r, c)                                                    c = 0, c = width - 1

   Rows are counted modulo their number. The sums are rounded in this order, which is that of the
   kernel for GPUs, so that all have the same bits.

   An element after n steps depends on elements at most n rows and n columns away. So a part of the
   grid is solved by itself from first values: from a part wider by n on each side. Wrong values at
   the wider part's edges, where elements beyond are missing, move inward by one a step and do not
   reach the part itself. */
#ifndef POLYPATH_MPI_BENCH_STENCIL_H
#define POLYPATH_MPI_BENCH_STENCIL_H

#include <stddef.h>

typedef struct {
  size_t width; /* elements of a row */
  size_t rows;  /* of the whole ring */
} Grid;

typedef struct {
  size_t row, rows;       /* from this row of the ring on */
  size_t column, columns; /* within the width */
} Part;

/* The first values of `count` elements of a row from this column on:

     a(r, c) = ((131 r + 71 c + r c mod 13) mod 1009) / 1009

   which are in [0, 1) and have no pattern that an exchange of wrong rows would keep. */
void write_first_values(float* to, size_t row, size_t column, size_t count);

/* One step of a whole row; the four rows have `width` elements, at least two. */
void step_row(float* to, const float* above, const float* here, const float* below, size_t width);

/* After how many steps so many rows are compared with solve_part's: 20, or as many as make 2^26
   elements; at least 4. Its n steps make about width * (rows + n) * n elements. */
size_t affordable_steps(size_t width, size_t rows);

/* How many floats solve_part works on. */
size_t scratch_floats(Part part, size_t steps);

/* The part after so many steps of one loop on the host: its rows, `*stride` floats apart, lie in
   the scratch memory. */
const float* solve_part(Grid grid, Part part, size_t steps, float* scratch, size_t* stride);

#endif
