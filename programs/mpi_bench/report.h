/* Results as JSON, one object per line on the first rank's stdout. docs/mpi.md lists the fields. */
#ifndef POLYPATH_MPI_BENCH_REPORT_H
#define POLYPATH_MPI_BENCH_REPORT_H

#include "check.h"
#include "measure.h"
#include "memory.h"
#include "operation.h"

/* Prints the run's setup; all ranks call it together. */
void report_start(const Memory* sent_from, const Memory* received_into, bool buffer_per_message);

/* One operation at one size and window; the first rank calls it. `checked` is NULL where nothing
   was compared. */
void report_result(const Operation* operation, const Exchange* exchange, Timing timing,
                   const Checked* checked);

/* The same of a solver at one size of halo. */
void report_jacobi(const Operation* operation, const Exchange* exchange, Timing timing,
                   const Checked* checked);

/* The same of a collective at one size; its bytes per second are the size by the time. */
void report_collective(const Operation* operation, const Exchange* exchange, Timing timing,
                       const Checked* checked);

/* That everything asked for has been measured; the first rank calls it. */
void report_end(double wrong_bytes);

#endif
