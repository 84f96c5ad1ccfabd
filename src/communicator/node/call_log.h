#pragma once
// The calls of one rank, compared with those of the other ranks on its node.
//
// Every call of every rank is compared with that of every other one, however far apart they are,
// and no rank waits: with h(r, s) the hash of rank r's calls 1 … s, ranks a and b have made the
// same calls up to s exactly if h(a, s) = h(b, s).
//
//   - A rank at call s compares with the ranks whose call s is in the ring: of two ranks that come,
//     the second at least sees the first.
//   - A rank so far ahead that its call s is overwritten when another rank comes there has kept its
//     own hashes since, and compares the other rank's latest call with them:
//     compare_with_slower(). It keeps no more than it is ahead.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "communicator/node/control_block.h"

namespace polypath::communicator {

/// Not thread-safe. The block must outlive it.
class CallLog {
 public:
  /// `ranks` are those on the node, as messages have them; this one is `ranks[local]`.
  CallLog(ControlBlock& block, std::vector<int> ranks, int local);

  /// Publishes this rank's next call.
  CallNumber enter(const CallRecord& call);

  /// In words, in what this rank's latest call differs from another's; none if it does not. Looks
  /// at those that are there, and now and then at those that are behind.
  std::optional<std::string> compare();
  /// The same for the latest calls of those that are behind.
  std::optional<std::string> compare_with_slower();

  [[nodiscard]] CallNumber latest() const { return latest_; }
  /// How many calls are kept for those that are behind.
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    Stamp stamp;
    CallWords words;
  };

  [[nodiscard]] const Kept& kept(CallNumber call) const;
  [[nodiscard]] CallNumber first_kept() const { return latest_ + 1 - kept_.size(); }
  void forget_what_all_have();
  [[nodiscard]] std::string difference(int other, CallNumber last) const;

  ControlBlock& block_;
  std::vector<int> ranks_;
  int local_;
  CallNumber latest_ = 0;
  std::uint64_t hash_ = 0;
  std::deque<Kept> kept_;  ///< up to the latest
  /// Per rank: up to which call the two are known to have made the same ones.
  std::vector<CallNumber> compared_;
};

}  // namespace polypath::communicator
