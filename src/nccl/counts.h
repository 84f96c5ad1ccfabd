#pragma once
// The fates of a program's calls of NCCL, by operation and size.

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "nccl/call.h"

namespace polypath::nccl {

/// Which library made a call, and why it was not ours.
enum class Fate {
  ours,
  faster,        ///< NCCL's is as fast or faster
  other_kind,    ///< we have no such operation, type or reduction
  in_group,      ///< it was made together with others
  elsewhere,     ///< ranks on other computers, or without Polypath
  communicator,  ///< the communicator is none that we serve
  failed,        ///< ours could not be made
  not_open,      ///< of a message, whose memory is not known to the other rank yet
  captured,      ///< of a message, and of ranks of several nodes: it becomes part of a graph
  too_many,      ///< of a message: as many of its ranks and direction are under way as may be
};
inline constexpr int kFates = 10;
/// For people: "NCCL, which is as fast or faster".
const char* text_of(Fate fate);

/// Calls of one operation, of sizes from `least` to less than four times that.
struct CountedCalls {
  Operation operation = Operation::all_reduce;
  Bytes least;
  Fate fate = Fate::ours;
  std::uint64_t calls = 0;
  Bytes bytes;
};

/// Thread-safe. Threads count apart: those of several GPUs call the same at the same time.
class Counts {
 public:
  void count(Operation operation, Bytes message, Fate fate) {
    Cell& cell = cells_[part_of_thread()][index_of(operation, message, fate)];
    cell.calls.fetch_add(1, std::memory_order_relaxed);
    cell.bytes.fetch_add(message.value, std::memory_order_relaxed);
  }
  /// Those that there were, in the order of operations, sizes and fates.
  [[nodiscard]] std::vector<CountedCalls> all() const;

 private:
  static constexpr int kSizes = 24;         ///< 1 byte, 4 bytes, …
  static constexpr std::size_t kParts = 8;  ///< threads by turns
  struct Cell {
    std::atomic<std::uint64_t> calls{0}, bytes{0};
  };
  static constexpr std::size_t kCells = std::size_t{kOperations} * kSizes * kFates;
  static std::size_t index_of(Operation operation, Bytes message, Fate fate);
  static std::size_t part_of_thread();

  std::array<std::array<Cell, kCells>, kParts> cells_;
};

}  // namespace polypath::nccl
