/* Measures collective calls. */
#ifndef POLYPATH_MPI_BENCH_COLLECTIVE_RUN_H
#define POLYPATH_MPI_BENCH_COLLECTIVE_RUN_H

#include "options.h"

/* Every size in turn; all ranks call it together. Returns how many bytes were wrong. */
double run_collective(const Operation* operation, const Options* options, const Memory* sent_from,
                      const Memory* received_into);

/* Fails where there is not enough memory for the largest size. */
void try_collective(const Operation* operation, const Options* options, const Memory* sent_from,
                    const Memory* received_into);

#endif
