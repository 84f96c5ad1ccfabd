/* Whether the right bytes arrive. */
#ifndef POLYPATH_MPI_BENCH_CHECK_H
#define POLYPATH_MPI_BENCH_CHECK_H

#include "operation.h"

typedef struct {
  double compared; /* bytes, of all ranks */
  double wrong;
} Checked;

/* Of two checks after one another. */
Checked sum_of(Checked a, Checked b);

/* Of all ranks of the exchange, of which this one compared so many bytes. Every rank calls it. */
Checked checked_by_all(const Exchange* exchange, size_t compared, size_t wrong);

/* Before exchanges: gives every buffer new bytes and poisons every destination, the gaps around
   buffers included. All ranks of the exchange call it together, as they do the next. */
void begin_check(const Exchange* exchange);

/* After them: compares every byte of every buffer and of the gaps. Each receiver says on stderr
   what is wrong. Every rank gets the same result. */
Checked end_check(const Operation* operation, Exchange* exchange);

#endif
