#pragma once
// The fates of a program's collective calls on memory of GPUs.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "mpi/call.h"

namespace polypath::mpi {

enum class Fate {
  ours,
  mixed,         ///< another rank passes memory of the host, or what we do not have
  other_kind,    ///< we have no such operation, type or reduction
  other_gpu,     ///< the memory is on another GPU than in earlier calls
  communicator,  ///< the communicator is none that we serve
  among_nodes,   ///< we have no such call if the ranks are on several nodes
  quiet,         ///< of several nodes, whose ranks do not ask each other for a while
  no_thread,     ///< it does not block, is of several nodes, and no thread of ours may call MPI
};
inline constexpr int kFates = 8;

struct CountedCalls {
  Operation operation = Operation::all_reduce;
  Fate fate = Fate::ours;
  std::uint64_t calls = 0;
};

/// Thread-safe.
class Counts {
 public:
  void count(Operation operation, Fate fate) {
    cells_[static_cast<std::size_t>(operation)][static_cast<std::size_t>(fate)].fetch_add(
        1, std::memory_order_relaxed);
  }
  /// Calls that are not ours are copied to the host for MPI.
  void note_staging() { is_staged_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_staged() const { return is_staged_.load(std::memory_order_relaxed); }
  /// Those that there were.
  [[nodiscard]] std::vector<CountedCalls> all() const;

 private:
  std::atomic<bool> is_staged_ = false;
  std::array<std::array<std::atomic<std::uint64_t>, kFates>, kOperations> cells_{};
};

/// A line for each operation and fate; empty if there were no calls.
std::string lines_of(const Counts& counts, int process);

}  // namespace polypath::mpi
