#pragma once
// Drafts of joint plans: the work of each of several transfers, its end if they run together, and
// the draft's cost.
//
// With the ends e_k, those natively N_k, the time c that the issuing threads spend in calls, and
// the number of transfers K, a draft costs
//
//   max(E, c₁) + 0.05·c + 0.02·(Σ e_k)/K + 20·E·h,    E = max e_k,   h = Σ max(0, e_k/N_k − 1.002)
//
// where c₁ is c if one thread issues everything: again and again, it must keep up.

#include <compare>
#include <cstddef>
#include <span>
#include <vector>

#include "model/tolerance.h"
#include "plan/joint/known_plays.h"
#include "plan/single/contention.h"
#include "plan/single/splitter.h"

namespace polypath::plan {

/// One transfer of a set.
struct JointTransfer {
  PlaceId source;
  PlaceId destination;
  Bytes bytes;

  auto operator<=>(const JointTransfer&) const = default;
};

/// The issuers of a set's transfers: one thread one after another, or each its own thread, of this
/// process or of several.
enum class Issuers { one_thread, threads, processes };

/// The numbers of transfers, each once, in the order in which they are issued.
using IssueOrder = std::vector<std::size_t>;

/// That of `size` transfers that are issued as they were asked for.
IssueOrder order_asked_for(std::size_t size);

/// One draft per transfer, each with its prediction beside the others.
struct JointDraft {
  std::vector<Draft> transfers;
  Executor executor = Executor::native;  ///< of those over several paths
  Seconds last;                          ///< the end of the last one
  Seconds calls;                         ///< of all
  double regret = 1;                     ///< the largest e_k/N_k, at least 1
  double harm = 0;                       ///< Σ max(0, e_k/N_k − 1.002)
  double cost = 0;                       ///< in seconds, as above
};

/// True if the transfer is one direct copy.
bool is_native(const Draft& draft);

/// True if some transfer goes over several paths.
bool is_split(const JointDraft& draft);

/// What a further try must leave of the cost: a quarter of what counts, because small steps add up.
/// With all of it one set of mist took 1.24 times as long (tests/plan/plan_times).
inline constexpr double kWorthwhile = 1 - kAlike / 4;
inline bool is_worthwhile(const JointDraft& trial, const JointDraft& best) {
  return trial.cost < best.cost * kWorthwhile;
}

inline bool is_cheaper(const JointDraft& a, const JointDraft& b) { return a.cost < b.cost; }

/// The problem that a joint plan solves.
struct JointProblem {
  std::vector<JointTransfer> transfers;
  std::vector<std::vector<Path>> paths;  ///< those that each may use, the direct one first
  Issuers issuers = Issuers::one_thread;
  bool queues = false;    ///< see JointOptions
  IssueOrder order = {};  ///< empty: as asked for
  Executor executor = Executor::stream;
  DraftLimits limits;
};

/// Predicts drafts of one problem.
class JointPredictor {
 public:
  JointPredictor(const Predictor& predictor, JointProblem problem);

  /// Fills in the predictions and the values that follow from them. Idle paths are taken out.
  void predict(JointDraft& draft, Effort effort) const;
  /// Everything as one direct copy each, predicted by replay, in the problem's order.
  [[nodiscard]] JointDraft natively() const;
  /// When a transfer ends then, if all are issued as they were asked for.
  [[nodiscard]] Seconds native_end(std::size_t transfer) const {
    return native_ends_[static_cast<int>(Effort::replay)][transfer];
  }

  /// When the last one ends then.
  [[nodiscard]] Seconds last_native_end() const;

  /// The shape of one transfer of a draft; native if it is one direct copy.
  [[nodiscard]] TransferShape shape_of(const JointDraft& draft, std::size_t transfer) const;
  /// Splits one transfer.
  [[nodiscard]] const Splitter& splitter(std::size_t transfer) const {
    return splitters_[transfer];
  }
  [[nodiscard]] const JointProblem& problem() const { return problem_; }
  [[nodiscard]] const Predictor& predictor() const { return predictor_; }
  [[nodiscard]] std::size_t size() const { return splitters_.size(); }
  /// When each call begins.
  [[nodiscard]] std::vector<Seconds> starts(const JointDraft& draft) const;
  /// True when so many copies were replayed that a search had better end.
  [[nodiscard]] bool has_played_enough() const { return played_ > kMostReplayed; }

 private:
  // Both in the order of issue.
  [[nodiscard]] std::vector<TransferShape> issued(const JointDraft& draft) const;
  [[nodiscard]] std::vector<Seconds> call_times(std::span<const TransferShape> issued) const;
  [[nodiscard]] std::vector<Seconds> starts_of(std::span<const Seconds> calls) const;

  /// By transfer.
  struct Played {
    std::vector<Prediction> predictions;
    std::vector<Seconds> calls;  ///< how long each takes
  };
  [[nodiscard]] Played play(const JointDraft& draft, Effort effort) const;
  void rate(JointDraft& draft, std::span<const Seconds> calls, Effort effort) const;

  // The set of copies that took longest (cedar 9 of results/simulated/plan_bounds.json) is planned
  // in 2 s with it and in 5.7 without; its plan then takes 3.65 ms instead of 3.52.
  static constexpr std::size_t kMostReplayed = 100'000;

  const Predictor& predictor_;
  JointProblem problem_;
  std::vector<Splitter> splitters_;
  IssueOrder order_;
  std::vector<Seconds> native_ends_[2];  // by effort
  mutable std::size_t played_ = 0;       // copies that were replayed, or would have been
  mutable KnownPlays known_[2];          // by effort
};

}  // namespace polypath::plan
