#pragma once
// Measures a Jacobi solver: each size of halo in each of the ways asked for, beside the native one.
// The time is that of an iteration among many, after some that make what is kept: on a simulated
// machine of one run, on GPUs the median of several.

#include <optional>
#include <string>
#include <vector>

#include "bench/jacobi_solver.h"
#include "bench/measure.h"
#include "core/settings.h"

namespace polypath::bench {

struct JacobiBench {
  std::string machine;
  std::optional<int> gpus;   ///< the machine's first ones; none: all
  std::vector<Bytes> sizes;  ///< of a halo, which is a row
  std::uint64_t rows = 8;    ///< of each GPU
  int iterations = 20;       ///< that are timed; even
  std::vector<JacobiWay> ways = {JacobiWay::native, JacobiWay::stream, JacobiWay::graph,
                                 JacobiWay::program};
  std::vector<JacobiPaths> paths = {JacobiPaths::automatic};  ///< of stream and graph
  /// The part of the memory's nominal bandwidth that simulated kernels get.
  double efficiency = 1;
  Settings settings;
  bool verify = true;
  bool values = false;  ///< the result has the last grid's, if it was verified
  /// For the memories of all GPUs of a run that is verified, and of the host's copy.
  Bytes memory_limit = 256_MiB;
};

struct JacobiResult {
  JacobiHow how;
  JacobiGrid grid;
  std::optional<JacobiShape> shape = {};  ///< of `program`
  Seconds seconds = {};                   ///< of an iteration
  Repetitions repetitions = {};           ///< on real GPUs; each the mean of all iterations
  Seconds native = {};                    ///< the same in the native way
  Seconds kernel = {};                    ///< of it, the expected time of the kernel of all rows
  bool verified = false;
  Bytes verified_halo = {};  ///< of the grid that was; 0 if none was
  int verified_iterations = 0;
  std::vector<float> values = {};
};

/// By size, way and paths, in their order. Two runs are not timed; verified means that after as
/// many iterations as are timed, at most 20, every element is the serial solver's to the bit, and
/// on a simulated machine that there was no race and nothing leaked. Of a grid that has no room a
/// narrower one is. Errors (invalid_argument): as of check(); more GPUs than there are; an odd
/// number of iterations.
std::vector<JacobiResult> measure_jacobi(const OpenMachine& opened, const JacobiBench& bench,
                                         const Progress& progress);

}  // namespace polypath::bench
