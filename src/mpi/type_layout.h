#pragma once
// Which bytes elements of a type of MPI's have.

#include <vector>

#include "mpi/element.h"
#include "mpi/self_window.h"

namespace polypath::mpi {

struct TypeLayout {
  Range range;              ///< from the first byte to the last one
  std::vector<Range> runs;  ///< those in it, without the gaps, in order

  /// Where the elements' address is behind the beginning of memory that they fit into.
  [[nodiscard]] Count lead() const { return range.begin < 0 ? -range.begin : 0; }
  /// How long that memory is at least.
  [[nodiscard]] Count room() const { return lead() + std::max<Count>(range.end, 0); }
};

/// MPI finds the gaps, in `self`. Errors: those of SelfWindow, and (invalid_argument) for too many
/// elements of a type with gaps.
TypeLayout layout_of(const Library& library, SelfWindow& self, Handle type, Count count);

}  // namespace polypath::mpi
