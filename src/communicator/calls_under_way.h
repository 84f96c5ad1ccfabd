#pragma once
// The calls of a rank that are not over, and why one of them will not be.
//
// A call that is not over is an error
//   - at once, if a rank that has not come to it has ended or left;
//   - after a second, if a rank has ended that had come to it: its part may be done nevertheless;
//   - after the timeout, counted from when it was to be watched, or from when an earlier call was
//     over, whichever is later: a long queue is no fault. If no rank of the node is missing, but
//     there are other nodes, a second later.

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "communicator/bootstrap/nodes.h"
#include "communicator/communicator.h"
#include "communicator/node/control_block.h"
#include "core/error.h"

namespace polypath::communicator {

struct CallUnderWay {
  using Clock = std::chrono::steady_clock;

  CallNumber call;
  Communicator::Question is_done;
  Clock::time_point since;
  std::optional<Clock::time_point> bereft = {};  ///< since when a rank is known to have ended
};

/// The calls that were begun since the last look.
struct NewCalls {
  std::vector<CallUnderWay> calls;
  std::uint64_t watched = 0;  ///< with all earlier ones
};

/// Not thread-safe, but for the timeout. What it is made of must outlive it.
class CallsUnderWay {
 public:
  CallsUnderWay(const Nodes& nodes, int rank, ControlBlock& block, Seconds timeout);

  void set_timeout(Seconds timeout) { timeout_ = timeout.value; }
  /// Asked of with each look for problems.
  void doubt(Communicator::Doubt doubt) { doubts_.push_back(std::move(doubt)); }
  /// Leaves none of them there. `latest`: the rank's latest call.
  void take(NewCalls& begun, CallNumber latest);
  /// Forgets the calls that are over. The error of one that cannot be queried: it has failed.
  [[nodiscard]] std::optional<Error> forget_done();
  /// Why one of them, or a doubt, ends the communicator.
  [[nodiscard]] std::optional<Error> find_problem();

  /// All calls up to this one are over once nothing is under way.
  [[nodiscard]] CallNumber over_once_empty() const { return over_once_empty_; }
  [[nodiscard]] bool empty() const { return calls_.empty(); }
  void clear() { calls_.clear(); }
  void clear_doubts() { doubts_.clear(); }

 private:
  [[nodiscard]] std::string problem();
  [[nodiscard]] std::string problem_with(int other);
  [[nodiscard]] std::string overdue() const;
  [[nodiscard]] std::string describe_call(CallNumber call) const;
  [[nodiscard]] std::vector<int> missing(CallNumber call) const;
  [[nodiscard]] std::string describe_missing(CallNumber call) const;
  [[nodiscard]] int rank_of(int local) const { return ranks_[static_cast<std::size_t>(local)]; }

  const Nodes& nodes_;
  const std::vector<int>& ranks_;  ///< of this node
  int local_;
  ControlBlock& block_;
  std::atomic<double> timeout_;  ///< in seconds
  std::vector<CallUnderWay> calls_;
  CallNumber over_once_empty_ = 0;
  std::vector<Communicator::Doubt> doubts_;
};

}  // namespace polypath::communicator
