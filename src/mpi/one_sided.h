#pragma once
// A program's one-sided call of MPI, by any of its functions.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "mpi/element.h"

namespace polypath::mpi {

enum class OneSided {
  put,
  get,
  accumulate,
  get_accumulate,
  fetch_and_op,
  compare_and_swap,
};
inline constexpr int kOneSided = 6;
/// "put", "fetch_and_op": as MPI has them, in small letters.
const char* name_of(OneSided operation);

/// Memory of the calling rank.
struct Elements {
  void* memory = nullptr;
  Count count = 0;
  Handle type = 0;
};

inline Range range_of(const Library& library, const Elements& elements) {
  return range_of(library, elements.type, elements.count);
}

struct OneSidedCall {
  OneSided operation = OneSided::put;
  Elements origin = {};   ///< is read
  Elements compare = {};  ///< is read, too
  Elements result = {};   ///< is written
  int target = 0;
  Count displacement = 0;
  Count target_count = 0;
  Handle target_type = 0;
  Handle reduction = 0;
  Handle window = 0;

  /// True if MPI promises that no other such call comes between its reading and its writing.
  [[nodiscard]] bool is_atomic() const {
    return operation != OneSided::put && operation != OneSided::get;
  }
};

/// What the program's own call is made with instead.
struct Instead {
  const void* origin = nullptr;
  const void* compare = nullptr;
  void* result = nullptr;
  int target = 0;
  Count displacement = 0;
  Handle window = 0;
  Count share = -1;         ///< of all counts; negative: the program's counts
  void* request = nullptr;  ///< null: by the function without a request
};
/// The program's own arguments.
inline Instead as_it_is(const OneSidedCall& call, void* request) {
  return {.origin = call.origin.memory,
          .compare = call.compare.memory,
          .result = call.result.memory,
          .target = call.target,
          .displacement = call.displacement,
          .window = call.window,
          .request = request};
}
using RealOneSided = std::function<Result(const Instead& instead)>;

/// The fates of calls on memory of GPUs.
class OneSidedCounts {
 public:
  enum class Fate { ours, staged };

  void count(OneSided operation, Fate fate) {
    cells_[static_cast<std::size_t>(operation)][static_cast<std::size_t>(fate)].fetch_add(
        1, std::memory_order_relaxed);
  }
  /// A line for each operation and fate; empty if there were no calls.
  [[nodiscard]] std::string lines(int process) const;

 private:
  std::array<std::array<std::atomic<std::uint64_t>, 2>, kOneSided> cells_{};
};

}  // namespace polypath::mpi
