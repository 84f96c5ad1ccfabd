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
  return (int)affordable_steps(jacobi->grid.width, jacobi->rows);
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void write_first_row(const Jacobi* jacobi, size_t row) {
  const size_t piece = STAGING_BYTES / sizeof(float), width = jacobi->grid.width;
  const size_t of_ring = (jacobi->first + jacobi->grid.rows + row - 1) % jacobi->grid.rows;
  float* const values = (float*)jacobi->memory->staging;
  for (size_t column = 0; column < width; column += piece) {
    const size_t count = smaller(piece, width - column);
    write_first_values(values, of_ring, column, count);
    copy_in(jacobi->memory, jacobi_row(jacobi, 0, row) + column * sizeof(float), values,
            count * sizeof(float));
  }
}

/* No value of a solution is the other array's poison, and none of it may be left. */
static void poison_other_array(const Jacobi* jacobi) {
  unsigned char* const poison = memset(jacobi->memory->staging, POISON, STAGING_BYTES);
  const size_t bytes = (jacobi->rows + 2) * jacobi->grid.width * sizeof(float);
  for (size_t at = 0; at < bytes; at += STAGING_BYTES)
    copy_in(jacobi->memory, jacobi_row(jacobi, 1, 0) + at, poison,
            smaller(STAGING_BYTES, bytes - at));
}

void start_over(Jacobi* jacobi) {
  poison_other_array(jacobi);
  for (size_t row = 0; row < jacobi->rows + 2; ++row) write_first_row(jacobi, row);
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

Checked check_jacobi(Exchange* exchange) {
  Jacobi* const jacobi = exchange->solver;
  const int iterations = checked_iterations(jacobi);
  Compared compared;
  start_over(jacobi);
  for (int i = 0; i < iterations; ++i) iterate_jacobi(exchange);
  compared = compare(jacobi, iterations);
  if (compared.wrong > 0) complain(exchange, iterations, compared);
  return checked_by_all(exchange, compared.compared * sizeof(float),
                        compared.wrong * sizeof(float));
}
