#include "measure.h"

/* Iterations of the OSU micro-benchmarks, which are fewer above this size. */
enum { LARGE = 8192 };

enum {
  LEAST_ITERATIONS = 3,
  WARM_UP_PARTS = 4, /* warm-up lasts at most this part of the measurement */
};

typedef struct {
  int warm_up, iterations;
} Counts;

static Counts counts_by_size(const Operation* operation, int bytes) {
  const Counts single = bytes > LARGE ? (Counts){10, 1000} : (Counts){100, 10000};
  const Counts window = bytes > LARGE ? (Counts){2, 20} : (Counts){10, 100};
  return operation->windowed ? window : single;
}

/* A barrier before each, whose time does not count. */
static double timed_one_by_one(const Operation* operation, Exchange* exchange, int iterations) {
  double passed = 0;
  for (int i = 0; i < iterations; ++i) {
    double start;
    MPI_Barrier(exchange->ranks);
    start = MPI_Wtime();
    operation->once(exchange);
    passed += MPI_Wtime() - start;
  }
  return passed;
}

static double timed(const Operation* operation, Exchange* exchange, int iterations) {
  double start;
  if (operation->kind == COLLECTIVE) return timed_one_by_one(operation, exchange, iterations);
  MPI_Barrier(exchange->ranks);
  start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) operation->once(exchange);
  return MPI_Wtime() - start;
}

static double greatest(const Exchange* exchange, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, exchange->ranks);
  return all;
}

static double total(const Exchange* exchange, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, exchange->ranks);
  return all;
}

static int at_most(int count, double most) { return (double)count > most ? (int)most : count; }

void warm_up(const Operation* operation, Exchange* exchange, double seconds) {
  double passed = 0;
  while (passed < seconds) passed += greatest(exchange, timed(operation, exchange, 1)) + 1e-9;
}

/* One exchange that meets everything for the first time, then one that says how many there is time
   for. The ranks agree, because each must make the same number. */
static Counts decide(const Operation* operation, Exchange* exchange, Effort effort) {
  Counts counts = counts_by_size(operation, exchange->bytes);
  double once;
  timed(operation, exchange, 1);
  once = greatest(exchange, timed(operation, exchange, 1)) + 1e-9; /* never 0 */
  counts.warm_up = at_most(counts.warm_up, effort.seconds / once / WARM_UP_PARTS);
  counts.iterations = at_most(counts.iterations, effort.seconds / once);
  if (counts.iterations < LEAST_ITERATIONS) counts.iterations = LEAST_ITERATIONS;
  if (effort.warm_up >= 0) counts.warm_up = effort.warm_up;
  if (effort.iterations >= 0) counts.iterations = effort.iterations;
  return counts;
}

static double by_clock(const Operation* operation, const Exchange* exchange, double mine) {
  double first = mine;
  switch (operation->clock) {
    case TIME_OF_FIRST_RANK: MPI_Bcast(&first, 1, MPI_DOUBLE, 0, exchange->ranks); return first;
    case TIME_OF_SLOWEST_RANK: return greatest(exchange, mine);
    case MEAN_OF_RANKS: return total(exchange, mine) / exchange->size;
    case MEAN_OF_SENDERS: break;
  }
  return total(exchange, exchange->sends_to == NO_RANK ? 0 : mine) /
         sender_count(operation, exchange->size);
}

Timing measure(const Operation* operation, Exchange* exchange, Effort effort) {
  const Counts counts = decide(operation, exchange, effort);
  double seconds;
  timed(operation, exchange, counts.warm_up);
  seconds = by_clock(operation, exchange, timed(operation, exchange, counts.iterations));
  return (Timing){seconds / counts.iterations / operation->messages_in_turn, counts.iterations};
}
