#pragma once
// Whether a transfer over several paths harms others that run beside it.
//
// A staged path takes from links and memories that other transfers count on, and its call keeps the
// thread that would issue them. So a plan is played together with them, all starting at once but
// those that the same thread issues afterwards: those in flight as they were planned, those that
// are expected as one direct copy each. Everything is compared with the case in which all are
// native copies. The regret of a plan is the factor by which the worst-off transfer, itself
// included, ends later:
//   regret = max over all transfers of (its end / its end natively), at least 1.
// A plan is taken if it gains and its regret is 1. Where the next transfers are not known yet, as
// in the first round of a burst, the first transfer has planned as if alone and taken resources
// that the next one counts on. Doing the same to the first one repairs that: there, plans are taken
// that lessen the regret.

#include <compare>
#include <map>
#include <vector>

#include "model/tolerance.h"
#include "plan/options.h"
#include "plan/plan.h"

namespace polypath::plan {

/// A transfer that runs, or is expected to run, beside the one that is planned.
struct ConcurrentTransfer {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;       ///< those of its size class
  PlanPointer plan;  ///< over several paths, in flight; null: one direct copy
  bool in_flight = false;
  bool queued = false;       ///< more like it are queued behind it
  bool same_thread = false;  ///< the thread that issues the planned one issues it

  /// Plans of the same copies are equal, even if different planners made them.
  [[nodiscard]] std::strong_ordering operator<=>(const ConcurrentTransfer& other) const;
  [[nodiscard]] bool operator==(const ConcurrentTransfer& other) const {
    return (*this <=> other) == 0;
  }
};

/// In the order of their places, one for each pair.
using ConcurrentTransfers = std::vector<ConcurrentTransfer>;

/// With more there is no room for staged paths anyway, and playing them all takes too long.
inline constexpr std::size_t kMostConcurrent = 16;

/// A transfer that ends at most so many times as late as natively is not harmed.
inline constexpr double kAsGoodAsNatively = 1 + kAlike;

/// Sizes with three significant binary digits, eight to a power of two: this one or less.
Bytes size_class(Bytes bytes);

/// True if the direct copy takes turns at an engine with some companion that itself contends with
/// one which does not. Such a chain may come apart and take longer though one of its copies is
/// over earlier (Graham's anomalies), and no play of a few copies foresees that.
bool takes_turns_in_a_chain(const Machine& machine, const ConcurrentTransfers& concurrent,
                            const Path& direct);

/// The shape of one direct copy.
TransferShape direct_copy(const Path& direct, Bytes bytes);

/// The same transfer the other way. A path without a way back stays as it is.
TransferShape mirror_image(const Machine& machine, const TransferShape& shape);

/// Plays transfers from one place to another together with their concurrent.
class Together {
 public:
  /// Plans are compared with a transfer of `bytes` over `direct`. With `both_ways` another one as
  /// large goes the other way, unless that is among the concurrent: by the same plan or natively,
  /// whichever is worse, because it decides for itself.
  Together(const Predictor& predictor, const ConcurrentTransfers& concurrent, const Path& direct,
           Bytes bytes, BothWays both_ways, int slots);

  struct Outcome {
    Prediction own;     ///< of the transfer; the later of both if it is mirrored
    double regret = 1;  ///< as defined above
  };
  [[nodiscard]] Outcome of(const TransferShape& own) const;
  /// How many of them one thread issues, the planned one among them.
  [[nodiscard]] int issued_by_one_thread() const { return issued_by_one_thread_; }

 private:
  struct Other {
    TransferShape shape;
    TransferShape native;
    bool follows = false;
  };
  /// The work of the others while the transfer is played.
  enum class Others { natively, as_planned };
  enum class Mirror { natively, as_planned };
  /// Where copies take turns: of the planned transfer among those that start with it.
  enum class Turn { first, last };
  struct Scene {
    Others others = Others::as_planned;
    Mirror mirror = Mirror::as_planned;
    Turn turn = Turn::first;
  };
  using Ends = std::vector<Prediction>;  ///< of the transfer, its mirror image if any, the others

  [[nodiscard]] Ends play(const TransferShape& own, const Scene& scene) const;
  [[nodiscard]] double regret_of(const Ends& ends, Turn turn) const;

  const Predictor& predictor_;
  int slots_;
  BothWays both_ways_;
  int issued_by_one_thread_ = 1;
  TransferShape direct_;
  std::vector<Other> others_;
  std::map<Turn, Ends> natively_;  ///< everything as one direct copy each
};

}  // namespace polypath::plan
