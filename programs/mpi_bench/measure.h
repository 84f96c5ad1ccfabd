/* How long exchanges take. */
#ifndef POLYPATH_MPI_BENCH_MEASURE_H
#define POLYPATH_MPI_BENCH_MEASURE_H

#include "operation.h"

/* How often; numbers below 0 stand for "as many as the size asks for". */
typedef struct {
  int warm_up;
  int iterations;
  double seconds;         /* where the size decides: about so long at most, warm-up not counted */
  double warm_up_seconds; /* of an operation, before its first size */
} Effort;

typedef struct {
  double seconds; /* of one exchange, or of one of its messages that follow one another */
  int iterations;
} Timing;

/* Runs the exchange again and again for about so long: resources that a library makes when messages
   have been large for a while are there afterwards. Every rank of the exchange takes part. */
void warm_up(const Operation* operation, Exchange* exchange, double seconds);

/* Runs the exchange untimed, then timed, as osu_latency and osu_bw do. Every rank of the exchange
   gets the same result. */
Timing measure(const Operation* operation, Exchange* exchange, Effort effort);

#endif
