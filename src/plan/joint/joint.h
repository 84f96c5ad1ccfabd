#pragma once
// Plans for a set of transfers that run together: several sources, destinations and sizes.
//
// Transfer k brings n_k bytes over paths p, of which x_kp bytes each. The shares start from a
// linear program over all of them (model/joint_shares.h):
//
//   min T   subject to   Ω_kp·x_kp + Δ_kp <= T                for every path that carries anything
//                        Σ_k Σ_p c_kpr·x_kp <= C_r·(T − Δ_r)  for every resource r
//                        Σ_p x_kp = n_k,  x >= 0
//
// That knows neither chunks nor the order of service. So its shares, and those of a few
// neighbouring problems, are rounded, cut into chunks, played together on the timeline
// (model/timeline.h), and changed as long as it says that the set is over earlier. The objectives
// are, in this order of weight (joint_draft.h):
//
//   1. no transfer ends later than if all were native copies (up to 0.2 %)
//   2. the end of the last one
//   3. the mean end, so that short transfers are not dragged out to the end of the long ones;
//      calls; paths
//
// Then transfers that gain nothing by several paths go back to one native copy, and if the set as a
// whole gains too little, all do.
//
// "Natively" means here: at the same time, each as one native copy. A transfer whose link another
// one needs as well ends later than alone even then, and no plan can promise it more.

#include <compare>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "plan/joint/joint_draft.h"
#include "plan/lru_cache.h"
#include "plan/single/planner.h"

namespace polypath::plan {

/// The issuers of an exchange's two ways that correspond to those of a set: several calls meet in
/// the driver alike.
BothWays as_both_ways(Issuers issuers);

/// "one-thread", "threads" or "processes".
const char* name_of(Issuers issuers);
/// Reads one of them; error (invalid_argument) lists them.
Issuers parse_issuers(const std::string& name);

/// Options of a joint plan.
struct JointOptions {
  Issuers issuers = Issuers::one_thread;
  /// The next transfers like these are issued before these are over, so that the transfers of one
  /// thread do not start one after another; but the thread must keep up.
  bool queues = false;
  /// The planner chooses the order of issue: where one thread issues all of them, and no queue.
  bool free_order = false;
  /// native, or which executor all split transfers use.
  std::optional<Executor> executor = std::nullopt;
  /// No path of any transfer is staged there.
  LeftOutRelays left_out = {};

  auto operator<=>(const JointOptions&) const = default;
};

/// One plan for several transfers that start together.
struct JointPlan {
  /// In the order asked for. A plan's `predicted` is when it ends and `native_predicted` when it
  /// would if all were native copies, issued as asked for; both from the first call on.
  std::vector<PlanPointer> plans;
  Seconds predicted;         ///< the end of the last one
  Seconds native_predicted;  ///< the same if all are native copies
  Seconds flow_bound;        ///< no plan over these paths is over earlier
  Seconds calls;             ///< what the issuing threads spend in calls, all together
  IssueOrder order;          ///< by number in `plans`; as asked for without free_order
};

using JointPlanPointer = std::shared_ptr<const JointPlan>;

/// With more transfers there is hardly room for staged paths, and playing them takes too long: they
/// are native copies.
inline constexpr std::size_t kMostJointTransfers = 16;

/// Plans sets of transfers on the machine of a planner, under its settings. Not thread-safe.
class JointPlanner {
 public:
  explicit JointPlanner(Planner& planner);

  /// The plan for `transfers`, which start together and are issued in this order, unless the
  /// options leave that free: no transfer ends later then than natively in this order. Joint plans
  /// are cached. Errors (invalid_argument): no transfers, or one that Planner::plan would refuse.
  JointPlanPointer plan(const std::vector<JointTransfer>& transfers,
                        const JointOptions& options = {});

  /// How transfers that start together, and again and again, go over paths as streams: by the share
  /// program, the ends of each rebalanced by the quick prediction. It is neither played nor
  /// explained, may harm some of them, and takes a hundredth of the time of plan(): for programs
  /// that are played as a whole. Cached. Errors as those of plan().
  const std::vector<TransferShape>& shapes(const std::vector<JointTransfer>& transfers);

  /// As Planner's.
  void recall(const FoundPlans& found);
  void add_found(FoundPlans& all) const;
  [[nodiscard]] std::size_t searches() const { return searches_; }

 private:
  using Key = std::tuple<std::vector<JointTransfer>, JointOptions>;
  struct Request;
  /// The result of a search: each transfer's paths, and how those over several paths run.
  struct Found {
    Executor executor = Executor::native;
    std::vector<std::vector<PathDraft>> splits;
    IssueOrder order = {};  ///< empty: as asked for
  };

  [[nodiscard]] JointPlanPointer make_plan(Request& request);
  void find_paths_of(Request& request) const;
  static void leave_small_ones_whole(Request& request);
  void issue(Request& request, IssueOrder order) const;
  [[nodiscard]] Bytes smallest_split(const Request& request, std::size_t transfer) const;
  [[nodiscard]] bool may_gain(const Request& request) const;
  [[nodiscard]] bool may_reorder(const Request& request) const;
  [[nodiscard]] std::vector<IssueOrder> other_orders(const Request& request, Seconds bound) const;
  [[nodiscard]] Seconds alone_natively(const Request& request, std::size_t transfer) const;
  [[nodiscard]] JointProblem problem(const Request& request, Executor executor) const;
  [[nodiscard]] JointDraft choose(Request& request) const;
  [[nodiscard]] JointDraft choose_in_order(const Request& request) const;
  [[nodiscard]] JointDraft found(Request& request);
  [[nodiscard]] JointDraft cheapest(const Request& request,
                                    std::initializer_list<std::optional<JointDraft>> drafts) const;
  [[nodiscard]] bool may_split(const Request& request) const;
  [[nodiscard]] bool gains(const Request& request, const JointDraft& draft) const;
  [[nodiscard]] PlanPointer plan_of(const Request& request, const JointDraft& chosen,
                                    std::size_t transfer) const;
  [[nodiscard]] static const JointPredictor& predictor_of(const Request& request,
                                                          const JointDraft& chosen);
  [[nodiscard]] std::string why_not(const Request& request, const Plan& plan,
                                    const Path& path) const;
  void explain(const Request& request, const JointDraft& chosen, std::size_t transfer,
               Plan& plan) const;

  Planner& planner_;
  LruCache<Key, JointPlanPointer> plans_;
  LruCache<Key, Found> found_;
  LruCache<std::vector<JointTransfer>, std::vector<TransferShape>> shapes_;
  std::size_t searches_ = 0;
};

}  // namespace polypath::plan
