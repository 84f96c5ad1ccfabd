#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "jacobi.h"

enum {
  COLUMNS = 8192, /* that are solved at a time: both of their arrays stay in a CPU's cache */
  POISON = 0x5A,
};

int checked_iterations(const Jacobi* jacobi) {
  return affordable_steps(jacobi->grid.width, jacobi->rows);
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void write_first_row(const Jacobi* jacobi, size_t row) {
  float values[COLUMNS];
  const size_t width = jacobi->grid.width;
  const size_t of_ring = (jacobi->first + jacobi->grid.rows + row - 1) % jacobi->grid.rows;
  for (size_t column = 0; column < width; column += COLUMNS) {
    const size_t count = smaller(COLUMNS, width - column);
    for (size_t i = 0; i < count; ++i) values[i] = first_value(of_ring, column + i);
    copy_all_in(jacobi->memory, jacobi_row(jacobi, 0, row) + column * sizeof(float), values,
                count * sizeof(float));
  }
}

/* No value of a solution is the other array's poison, and none of it may be left. */
static void poison_row(const Jacobi* jacobi, size_t row) {
  unsigned char poison[COLUMNS];
  const size_t bytes = jacobi->grid.width * sizeof(float);
  memset(poison, POISON, sizeof poison);
  for (size_t at = 0; at < bytes; at += sizeof poison)
    copy_all_in(jacobi->memory, jacobi_row(jacobi, 1, row) + at, poison,
                smaller(sizeof poison, bytes - at));
}

void start_over(Jacobi* jacobi) {
  for (size_t row = 0; row < jacobi->rows + 2; ++row) {
    write_first_row(jacobi, row);
    poison_row(jacobi, row);
  }
  finish_copies(jacobi->memory);
  jacobi->latest = 0;
}

typedef struct {
  size_t compared, wrong;         /* elements */
  size_t wrong_row, wrong_column; /* the first one's; the row is the ring's */
} Compared;

static void compare_row(const float* expected, const float* given, Part place, Compared* result) {
  result->compared += place.columns;
  if (memcmp(expected, given, place.columns * sizeof(float)) == 0) return;
  for (size_t i = 0; i < place.columns; ++i) {
    if (memcmp(&expected[i], &given[i], sizeof(float)) == 0) continue;
    if (result->wrong++ > 0) continue;
    result->wrong_row = place.row;
    result->wrong_column = place.column + i;
  }
}

/* All of this rank's rows and its halos, of some columns. */
static void compare_part(const Jacobi* jacobi, Part part, int iterations, float* scratch,
                         Compared* result) {
  float given[COLUMNS];
  size_t stride;
  const float* const values = solve_part(jacobi->grid, part, (size_t)iterations, scratch, &stride);
  for (size_t row = 0; row < part.rows; ++row) {
    const unsigned char* const source =
        jacobi_row(jacobi, jacobi->latest, row) + part.column * sizeof(float);
    const Part place = {(part.row + row) % jacobi->grid.rows, 1, part.column, part.columns};
    memset(given, POISON, sizeof given); /* in case that the copy does not write it */
    copy_all_out(jacobi->memory, given, source, part.columns * sizeof(float));
    compare_row(values + row * stride, given, place, result);
  }
}

static Compared compare(const Jacobi* jacobi, int iterations) {
  const size_t halo_above = (jacobi->first + jacobi->grid.rows - 1) % jacobi->grid.rows;
  Part part = {halo_above, jacobi->rows + 2, 0, smaller(COLUMNS, jacobi->grid.width)};
  float* const scratch = allocate_host(scratch_floats(part, (size_t)iterations), sizeof(float));
  Compared result = {0, 0, 0, 0};
  for (; part.column < jacobi->grid.width; part.column += COLUMNS) {
    part.columns = smaller(COLUMNS, jacobi->grid.width - part.column);
    compare_part(jacobi, part, iterations, scratch, &result);
  }
  free(scratch);
  return result;
}

static void complain(const Exchange* e, int iterations, Compared compared) {
  fprintf(stderr,
          PROGRAM_NAME
          ": rank %d: jacobi with halos of %d bytes: %zu wrong elements after %d iterations, the "
          "first in row %zu, column %zu\n",
          e->rank, e->bytes, compared.wrong, iterations, compared.wrong_row, compared.wrong_column);
  fflush(stderr);
}

Checked check_jacobi(Exchange* exchange, int iterations) {
  Jacobi* const jacobi = exchange->solver;
  Compared compared;
  double mine[2], all[2];
  start_over(jacobi);
  for (int i = 0; i < iterations; ++i) iterate_jacobi(exchange);
  compared = compare(jacobi, iterations);
  if (compared.wrong > 0) complain(exchange, iterations, compared);
  mine[0] = (double)compared.compared * sizeof(float);
  mine[1] = (double)compared.wrong * sizeof(float);
  MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, exchange->ranks);
  return (Checked){all[0], all[1]};
}
