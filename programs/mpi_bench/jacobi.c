#include "jacobi.h"

#include <stdlib.h>

#include "failure.h"

enum { UP = 3, DOWN = 4 };                      /* tags: between two ranks go both */
enum { ABOVE, HERE, BELOW, MADE, WINDOW_ROWS }; /* of the window */

size_t jacobi_bytes(size_t halo, size_t rows) { return 2 * (rows + 2) * halo; }

static size_t row_bytes(const Jacobi* jacobi) { return jacobi->grid.width * sizeof(float); }

unsigned char* jacobi_row(const Jacobi* jacobi, int array, size_t row) {
  return jacobi->base + ((size_t)array * (jacobi->rows + 2) + row) * row_bytes(jacobi);
}

const char* jacobi_kernel_name(const Jacobi* jacobi) {
  return jacobi->kernel == NULL ? "host" : "gpu";
}

Jacobi open_jacobi(const Exchange* exchange, const Memory* memory, void* base, size_t rows,
                   const JacobiKernel* kernel) {
  const size_t width = (size_t)exchange->bytes / sizeof(float);
  Jacobi jacobi = {
      .memory = memory,
      .kernel = kernel,
      .grid = {width, rows * (size_t)exchange->size},
      .rows = rows,
      .first = rows * (size_t)exchange->rank,
      .base = base,
  };
  if (kernel == NULL) jacobi.window = allocate_host(WINDOW_ROWS * width, sizeof(float));
  start_over(&jacobi);
  return jacobi;
}

void close_jacobi(Jacobi* jacobi) {
  free(jacobi->window);
  jacobi->window = NULL;
}

/* Row by row: each is fetched once, as the one below, and is then the middle and the one above. */
static void compute_on_host(const Jacobi* jacobi, int from, int to) {
  const size_t width = jacobi->grid.width, bytes = row_bytes(jacobi);
  float* rows[WINDOW_ROWS];
  for (int i = 0; i < WINDOW_ROWS; ++i) rows[i] = jacobi->window + (size_t)i * width;
  copy_all_out(jacobi->memory, rows[ABOVE], jacobi_row(jacobi, from, 0), bytes);
  copy_all_out(jacobi->memory, rows[HERE], jacobi_row(jacobi, from, 1), bytes);
  for (size_t row = 1; row <= jacobi->rows; ++row) {
    float* const done = rows[ABOVE];
    copy_all_out(jacobi->memory, rows[BELOW], jacobi_row(jacobi, from, row + 1), bytes);
    step_row(rows[MADE], rows[ABOVE], rows[HERE], rows[BELOW], width);
    copy_all_in(jacobi->memory, jacobi_row(jacobi, to, row), rows[MADE], bytes);
    rows[ABOVE] = rows[HERE];
    rows[HERE] = rows[BELOW];
    rows[BELOW] = done;
  }
  finish_copies(jacobi->memory);
}

static void compute(const Jacobi* jacobi, int from, int to) {
  if (jacobi->kernel == NULL) compute_on_host(jacobi, from, to);
  else
    run_jacobi_kernel(jacobi->kernel, jacobi_row(jacobi, to, 1), jacobi_row(jacobi, from, 0),
                      jacobi->grid.width, jacobi->rows);
}

static void exchange_halos(const Exchange* e, const Jacobi* jacobi, int array) {
  const int above = (e->rank + e->size - 1) % e->size, below = (e->rank + 1) % e->size;
  const size_t last = jacobi->rows;
  MPI_Request* const r = e->requests;
  MPI_Irecv(jacobi_row(jacobi, array, last + 1), e->bytes, MPI_BYTE, below, UP, e->ranks, &r[0]);
  MPI_Irecv(jacobi_row(jacobi, array, 0), e->bytes, MPI_BYTE, above, DOWN, e->ranks, &r[1]);
  MPI_Isend(jacobi_row(jacobi, array, 1), e->bytes, MPI_BYTE, above, UP, e->ranks, &r[2]);
  MPI_Isend(jacobi_row(jacobi, array, last), e->bytes, MPI_BYTE, below, DOWN, e->ranks, &r[3]);
  MPI_Waitall(2 * HALOS, r, MPI_STATUSES_IGNORE);
}

void iterate_jacobi(Exchange* exchange) {
  Jacobi* const jacobi = exchange->solver;
  const int from = jacobi->latest, to = 1 - from;
  compute(jacobi, from, to);
  exchange_halos(exchange, jacobi, to);
  jacobi->latest = to;
}
