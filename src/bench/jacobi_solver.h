#pragma once
// How a Jacobi solver of one process does its iterations: kernels and halos, in four ways.
//
//   native   one stream per GPU: kernel, copy up, copy down, one after another, as MPI programs
//            with two MPI_Sendrecv do it; each copy is the driver's own
//   stream   the same with Polypath's copies by streams,
//   graph    or by a graph each; over paths that are named for every halo, those down once those up
//            have arrived; or automatic: then all halos are asked for together (Engine::copy_many),
//            up and down on two streams per GPU, where that is predicted to gain
//   program  two whole iterations, there and back, as one program in one graph: kernels and copies
//            of all GPUs (model/program.h). The rows that neighbours wait for may be made first.

#include <memory>
#include <string>
#include <vector>

#include "bench/jacobi_grid.h"
#include "bench/jacobi_memory.h"
#include "context/open.h"

namespace polypath::bench {

/// Which paths the halos take.
enum class JacobiPaths {
  automatic,
  direct,
  /// As 002, figure 7: also by way of the GPU before the one that sends, going round the ring as
  /// the halo does. In a ring of 4 with links between all, no link then has two of one direction.
  two,
  three,  ///< and of the one behind the one that receives
};

/// "auto", "direct", "two", "three"; error (invalid_argument) lists them.
JacobiPaths parse_jacobi_paths(const std::string& name);
const char* name_of(JacobiPaths paths);

enum class JacobiWay { native, stream, graph, program };
/// Error (invalid_argument) lists them.
JacobiWay parse_jacobi_way(const std::string& name);
const char* name_of(JacobiWay way);

/// How it is done.
struct JacobiHow {
  JacobiWay way = JacobiWay::native;
  JacobiPaths paths = JacobiPaths::automatic;  ///< no matter to `native` and `program`
  double efficiency = 1;                       ///< of kernels: their part of memory's bandwidth
};

/// The best form found for a program.
struct JacobiShape {
  bool overlapped = false;     ///< rows that neighbours wait for come first
  bool several_paths = false;  ///< of any halo
  std::size_t nodes = 0;       ///< of the graph
  Seconds predicted;           ///< of an iteration
};

class JacobiSolver {
 public:
  JacobiSolver() = default;
  JacobiSolver(const JacobiSolver&) = delete;
  JacobiSolver& operator=(const JacobiSolver&) = delete;
  virtual ~JacobiSolver() = default;

  /// Enqueues so many more iterations, an even number.
  virtual void iterate(int iterations) = 0;
  /// Waits for all of them.
  virtual void wait() = 0;
  /// Of `program` only.
  [[nodiscard]] virtual const JacobiShape* shape() const { return nullptr; }
};

/// A solver on an opened machine. Machine, grid and memory must outlive it. Errors
/// (invalid_argument): paths by way of GPUs that there are not; as of the driver.
std::unique_ptr<JacobiSolver> make_jacobi_solver(const OpenMachine& opened, const JacobiGrid& grid,
                                                 const JacobiMemory& memory, const JacobiHow& how);

/// The paths of a halo by name ("direct", "gpu3"); empty if automatic. Errors as above.
std::vector<std::string> paths_of(const Machine& machine, const JacobiGrid& grid, const Halo& halo,
                                  bool up, JacobiPaths paths);

}  // namespace polypath::bench
