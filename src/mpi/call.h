#pragma once
// A program's collective call of MPI: what it says of both memories, whichever function it is.

#include <cstddef>

#include "mpi/element.h"

namespace polypath::mpi {

enum class Operation {
  all_reduce,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exclusive_scan,
  broadcast,
  all_gather,
  all_gather_v,
  gather,
  gather_v,
  scatter,
  scatter_v,
  all_to_all,
  all_to_all_v,
  all_to_all_w
};
inline constexpr int kOperations = 16;
/// "allreduce", "reduce_scatter": as MPI has them, in small letters.
const char* name_of(Operation operation);

/// An array of counts or displacements of a program's: of ints, or of MPI_Count and MPI_Aint.
class Numbers {
 public:
  Numbers() = default;
  Numbers(const int* numbers) : ints_(numbers) {}      // NOLINT(google-explicit-constructor)
  Numbers(const Count* numbers) : counts_(numbers) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_there() const { return ints_ != nullptr || counts_ != nullptr; }
  Count operator[](int number) const {
    const auto at = static_cast<std::size_t>(number);
    return counts_ != nullptr ? counts_[at] : ints_[at];
  }

 private:
  const int* ints_ = nullptr;
  const Count* counts_ = nullptr;
};

/// One of a call's two memories, as the program describes it: `count` elements for each of `parts`
/// ranks one after another; or for each rank its own count, at its own displacement, of its own
/// type.
struct Side {
  void* memory = nullptr;  ///< MPI_IN_PLACE: not used, the other one is both
  Count count = 0;
  Handle type = 0;
  int parts = 1;               ///< 0: this rank has no such memory
  Numbers counts = {};         ///< of v; then of displacements too, unless parts are side by side
  Numbers displacements = {};  ///< in extents of the type; in bytes, if each rank has its own type
  const void* types = nullptr;
};

struct Call {
  Operation operation = Operation::all_reduce;
  Side send, receive;
  Numbers counts = {};  ///< of reduce_scatter: what each rank receives, the same at all
  Handle reduction = 0;
  int root = 0;
  Handle comm = 0;
};

/// The bytes from a side's address on that the call may read or write.
Range range_of(const Library& library, const Side& side);

/// True if no rank gives or gets anything, which all find alike.
bool is_empty(const Call& call);

}  // namespace polypath::mpi
