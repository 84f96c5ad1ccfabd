#pragma once
// Which algorithm, with which tuning, by which executor: whatever the timeline says is over first.
//
// For each algorithm pieces are halved from the largest that a slot holds as long as that gains,
// each with messages over one path and over several, by streams and as a graph. The prediction is
// that of model/timeline.h, with every call, wait and reduction in it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/algorithm.h"
#include "collective/collective_run.h"
#include "collective/rank_run.h"
#include "collective/routes.h"

namespace polypath {

/// Whether messages may be split over paths.
enum class PathChoice { any, one, several };

/// What the caller wants.
struct CollectiveOptions {
  std::optional<Executor> executor = std::nullopt;  ///< stream or graph; none: whichever is best
  PathChoice paths = PathChoice::any;
  std::vector<std::string> algorithms = {};  ///< that may be used; empty: all
  bool private_memory = false;               ///< as in Tuning
  bool divided = false;  ///< among ranks of their own; they are, too, if memory is private
  /// Algorithms that reduce in another order than the fixed one may be chosen: sums and products of
  /// floating-point numbers then have bits that depend on the size and the machine. Those that are
  /// named may always be.
  bool any_order = false;
  bool kernels = true;  ///< those that are all kernel may be used
  /// How long a rank waits for the others to come, where all have to open their memory; none: for a
  /// quarter of what the call takes, and as long as its own GPU has work left.
  std::optional<Seconds> patience = std::nullopt;
};

/// How ranks of their own await each other in programs of such calls.
inline EntryAwaits entry_awaits_of(Executor executor, Collective collective) {
  const bool at_first = executor == Executor::graph && reduces(collective);
  return at_first ? EntryAwaits::at_first : EntryAwaits::where_needed;
}

/// The best that an algorithm can do.
struct CollectiveDraft {
  const Algorithm* algorithm = nullptr;
  Tuning tuning;
  Executor executor = Executor::stream;
  Seconds predicted;
};

/// What was chosen about one algorithm, and why.
struct AlgorithmDecision {
  CollectiveDraft draft;
  bool chosen = false;
  std::string reason;
};

/// A choice: the algorithms that do the collective, the fastest first.
struct CollectivePlan {
  CollectiveRequest request;
  std::vector<AlgorithmDecision> decisions;
  std::shared_ptr<const CollectiveProgram> program;  ///< of the first

  [[nodiscard]] const CollectiveDraft& chosen() const { return decisions.front().draft; }
};

/// Plans collectives on one machine. Not thread-safe.
class CollectivePlanner {
 public:
  /// Error (invalid_setting) as of Planner.
  CollectivePlanner(const Machine& machine, const Settings& settings);

  /// Errors (invalid_argument): as check(); algorithms that are unknown or do not do it.
  [[nodiscard]] CollectivePlan plan(const CollectiveRequest& request,
                                    const CollectiveOptions& options = {});

 private:
  [[nodiscard]] CollectiveDraft best_of(const Algorithm& algorithm,
                                        const CollectiveRequest& request,
                                        const CollectiveOptions& options);
  [[nodiscard]] CollectiveDraft best_piece(CollectiveDraft draft, const CollectiveRequest& request,
                                           const CollectiveOptions& options);
  void predict(CollectiveDraft& draft, const CollectiveRequest& request,
               const CollectiveOptions& options, const Program& program);
  [[nodiscard]] Seconds predict(const CollectiveRequest& request, Executor executor,
                                const Program& program, bool divided);

  Machine machine_;
  Settings settings_;
  HopRates rates_;
  Routes routes_;
};

}  // namespace polypath
