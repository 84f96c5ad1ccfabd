#pragma once
// Whether all halos of a Jacobi iteration at the same time, on two streams per GPU, gain over those
// that go up first and those that go down then. An iteration takes what its calls take, or what the
// GPUs do if that is more:
//
//   one after another   max(n·(r + 2w + 3c), K + 2·X)           c, r, w: a call that copies or runs
//   together            max(n·(3r + 4w + 3c), K + l + X_all)    a kernel, records, waits
//
// X is a halo alone, X_all what the joint plan of all takes (plan/joint/joint.h) without its calls,
// which are made while the kernels run, l what a stream waits for a kernel of another one.

#include "bench/jacobi_grid.h"
#include "context/open.h"

namespace polypath::bench {

/// True if its predicted gain reaches that required of an exchange whose two ways one thread issues
/// (DriverBehaviour::least_gain_one_thread): the engine's work around a set of copies is not in the
/// prediction. `efficiency` is that of kernels (kernel_of).
bool together_gains(const OpenMachine& opened, const JacobiGrid& grid, double efficiency);

}  // namespace polypath::bench
