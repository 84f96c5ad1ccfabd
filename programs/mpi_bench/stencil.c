#include "stencil.h"

enum {
  PRIME = 1009,
  TURN = 13,
  RUN = 4 * TURN,        /* numbers made at a time, as vectors are long */
  ON = 71 * RUN % PRIME, /* what a number grows by from one run to the next */
};

enum {
  MOST_STEPS = 20,
  LEAST_STEPS = 4,         /* each of a solver's two arrays is received into twice */
  MOST_ELEMENTS = 1 << 26, /* of all steps: a check is to take less than the checked run */
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* A part and its dependencies: it begins `above` rows and `before` columns after the wider one. */
typedef struct {
  size_t row, rows, column, columns;
  size_t above, before;
} Wider;

static int first_number(size_t row, size_t column) {
  return (int)((row * 131 + column * 71 + row * column % TURN) % PRIME);
}

/* Without the divisions of first_number: RUN is a multiple of TURN, so that of the three terms only
   the second one changes from one run to the next. */
void write_first_values(float* to, size_t row, size_t column, size_t count) {
  int numbers[RUN];
  for (size_t i = 0; i < RUN; ++i) numbers[i] = first_number(row, column + i);
  for (size_t done = 0; done < count; done += RUN) {
    const size_t made = smaller(RUN, count - done);
    for (size_t i = 0; i < made; ++i) {
      to[done + i] = (float)numbers[i] / (float)PRIME;
      numbers[i] += numbers[i] < PRIME - ON ? ON : ON - PRIME;
    }
  }
}

size_t affordable_steps(size_t width, size_t rows) {
  size_t steps = MOST_STEPS;
  while (steps > LEAST_STEPS && width * (rows + steps) * steps > MOST_ELEMENTS) --steps;
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

static void start_part(Grid grid, Wider wider, float* values) {
  for (size_t row = 0; row < wider.rows; ++row)
    write_first_values(values + row * wider.columns, (wider.row + row) % grid.rows, wider.column,
                       wider.columns);
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
  start_part(grid, wider, from);
  for (size_t step = 1; step <= steps; ++step) {
    float* const made = to;
    step_rows(from, to, step, wider.rows - step, wider.columns);
    to = from;
    from = made;
  }
  *stride = wider.columns;
  return from + wider.above * wider.columns + wider.before;
}
