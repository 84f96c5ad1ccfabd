/* Measures the Jacobi solver. */
#ifndef POLYPATH_MPI_BENCH_JACOBI_RUN_H
#define POLYPATH_MPI_BENCH_JACOBI_RUN_H

#include "options.h"

/* Every size in turn; all ranks call it together. Between one check before and one after them are
   the iterations that are timed. Returns how many bytes were wrong. */
double run_jacobi(const Operation* operation, const Options* options, const Memory* memory);

/* Fails where there is not enough memory for the largest size. */
void try_jacobi(const Options* options, const Memory* memory);

#endif
