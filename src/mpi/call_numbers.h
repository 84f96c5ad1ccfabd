#pragma once
// What the ranks of a communicator of several nodes tell each other of a call that is ours, before
// it is made: counts that only each of them knows, and a number for its place among the calls of
// other communicators (call_order.h).

#include <cstddef>
#include <memory>
#include <vector>

#include "mpi/library.h"
#include "mpi/wait.h"

namespace polypath::mpi {

/// Of one rank. Functions call MPI. The library must outlive it.
class CallNumbers {
 public:
  /// `has_places`: calls of several communicators may be made at a time.
  CallNumbers(const Library& library, Handle comm, int ranks, bool has_places)
      : library_(library),
        comm_(comm),
        ranks_(static_cast<std::size_t>(ranks)),
        has_places_(has_places) {}

  [[nodiscard]] bool has_places() const { return has_places_; }
  /// All ranks tell the next call's: as many counts at each, and the number, if it has_places().
  /// Returns the largest number.
  Count tell(const std::vector<Count>& counts, Count number, const Wait& wait);
  /// The latest call's counts, one rank's after another's.
  [[nodiscard]] const std::vector<Count>& told_counts() const { return told_; }

 private:
  struct Telling;
  [[nodiscard]] std::unique_ptr<Telling> exchange(const std::vector<Count>& mine,
                                                  const Wait& wait) const;

  const Library& library_;
  Handle comm_;
  std::size_t ranks_;
  bool has_places_;
  std::vector<Count> told_;
};

}  // namespace polypath::mpi
