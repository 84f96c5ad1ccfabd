#pragma once
// The order in which processes of several nodes make their calls of ours, one after the other,
// where threads make calls of several communicators at a time.
//
// Work of two calls on a GPU may be in each other's way (turns.h), and so may driver calls of one
// that wait for the GPU, and those that the other one needs to go on. Calls of two communicators
// might wait for each other, if two ranks of both began them in different orders. So once all ranks
// of a call have come to it, they tell each other a number, and the call has the largest of these.
// A rank begins a call when no other one here has a smaller number, or can get one: the number that
// a rank has told is the least that its call may have. (Skeen's algorithm.)
//
// No number is told twice: it is a count of this process's, larger than those of all calls that it
// has seen, and its rank.

#include <cstdint>
#include <mutex>
#include <set>

#include "mpi/abi.h"

namespace polypath::mpi {

/// Of one process. Thread-safe.
class CallOrder {
 public:
  /// A call, from its number to its end.
  class Place {
   public:
    /// With a number to tell.
    Place(CallOrder& order, int rank_of_process);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    [[nodiscard]] Count number() const { return number_; }
    /// The largest number that its ranks have told.
    void settle(Count largest);
    /// After that: true if it is to begin.
    [[nodiscard]] bool is_first() const;

   private:
    CallOrder& order_;
    Count number_;
  };

 private:
  static constexpr int kRankBits = 24;

  std::mutex mutex_;  ///< guards the members below
  Count latest_ = 0;
  std::set<Count> numbers_;
};

}  // namespace polypath::mpi
