#pragma once
// The ways of a Jacobi solver that are calls, iteration by iteration (jacobi_solver.h).

#include <memory>

#include "bench/jacobi_solver.h"

namespace polypath::bench {

/// Any way but `program`. Errors as make_jacobi_solver.
std::unique_ptr<JacobiSolver> make_jacobi_streams(const OpenMachine& opened, const JacobiGrid& grid,
                                                  const JacobiMemory& memory, const JacobiHow& how);

}  // namespace polypath::bench
