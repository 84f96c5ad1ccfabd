#include "stencil.h"

enum {
  PRIME = 1009,
  MOST_STEPS = 20,
  LEAST_STEPS = 4, /* each of a solver's two arrays is received into twice */
};

/* All sizes are compared twice in each of several rounds. */
static const double MOST_ELEMENTS = 536870912.0;

/* A part and what it depends on: it begins `above` rows and `before` columns after the wider one.
 */
typedef struct {
  size_t row, rows, column, columns;
  size_t above, before;
} Wider;

float first_value(size_t row, size_t column) {
  return (float)((row * 131 + column * 71 + row * column % 13) % PRIME) / (float)PRIME;
}

int affordable_steps(size_t width, size_t rows) {
  int steps = MOST_STEPS;
  while (steps > LEAST_STEPS && (double)width * ((double)rows + steps) * steps > MOST_ELEMENTS)
    --steps;
  return steps;
}

static void step_elements(float* to, const float* above, const float* here, const float* below,
                          size_t width) {
  for (size_t c = 1; c + 1 < width; ++c)
    to[c] = 0.25F * (((here[c - 1] + here[c + 1]) + above[c]) + below[c]);
}

void step_row(float* to, const float* above, const float* here, const float* below, size_t width) {
  to[0] = here[0];
  step_elements(to, above, here, below, width);
  to[width - 1] = here[width - 1];
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Rows go on around the ring, as often as it takes; columns end at the grid's. */
static Wider widen(size_t width, size_t ring, Part part, size_t steps) {
  const size_t before = smaller(part.column, steps);
  const size_t end = smaller(part.column + part.columns + steps, width);
  const size_t column = part.column - before;
  return (Wider){
      .row = (part.row + ring - steps % ring) % ring,
      .rows = part.rows + 2 * steps,
      .column = column,
      .columns = end - column,
      .above = steps,
      .before = before,
  };
}

size_t scratch_floats(Part part, size_t steps) {
  return 2 * (part.rows + 2 * steps) * (part.columns + 2 * steps);
}

static void write_first_values(Grid grid, Wider wider, float* values) {
  for (size_t row = 0; row < wider.rows; ++row)
    for (size_t c = 0; c < wider.columns; ++c)
      values[row * wider.columns + c] =
          first_value((wider.row + row) % grid.rows, wider.column + c);
}

/* Of the rows whose neighbours are right: the first and the last one of them have none. */
static void step_rows(const float* from, float* to, size_t first, size_t last, size_t width) {
  for (size_t row = first; row < last; ++row) {
    const float* const here = from + row * width;
    step_row(to + row * width, here - width, here, here + width, width);
  }
}

const float* solve_part(Grid grid, Part part, size_t steps, float* scratch, size_t* stride) {
  const Wider wider = widen(grid.width, grid.rows, part, steps);
  float* from = scratch;
  float* to = scratch + wider.rows * wider.columns;
  write_first_values(grid, wider, from);
  for (size_t step = 1; step <= steps; ++step) {
    float* const made = to;
    step_rows(from, to, step, wider.rows - step, wider.columns);
    to = from;
    from = made;
  }
  *stride = wider.columns;
  return from + wider.above * wider.columns + wider.before;
}
