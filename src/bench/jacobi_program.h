#pragma once
// Two whole Jacobi iterations, there and back, as one program: kernels and copies of all GPUs, in
// one graph. After two the arrays are where they were, so that one graph serves all iterations.
//
// Per iteration and GPU either one kernel makes all rows and then the halos go; or, where that is
// predicted to be over earlier, the first and the last row are made first, and the halos go while
// the rows between are made:
//
//   one after another   K(rows) + X               K(r): time of r rows, X: of the exchange
//   overlapped          2·K(1) + max(K(rows - 2), X)
//
// The halos are planned together (collective/program/routes.h), over one path each or several.

#include <memory>

#include "bench/jacobi_solver.h"
#include "collective/program/routes.h"

namespace polypath::bench {

/// How a program is laid out.
struct JacobiLayout {
  bool overlapped = false;
  bool several_paths = false;
};

/// Its buffers are the GPUs' memories in order. `routes` divides halos among paths.
Program jacobi_program(const Machine& machine, const JacobiGrid& grid, double efficiency,
                       JacobiLayout layout, Routes& routes);

/// Runs the layout that is predicted to be over first.
std::unique_ptr<JacobiSolver> make_jacobi_program(const OpenMachine& opened, const JacobiGrid& grid,
                                                  const JacobiMemory& memory, const JacobiHow& how);

}  // namespace polypath::bench
