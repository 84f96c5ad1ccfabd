#pragma once
// Finds the plans that an engine works with: as its settings ask for them, over no relay that is
// left out, in the background or in the call.

#include <optional>

#include "core/settings.h"
#include "engine/call/copy_call.h"
#include "engine/planning/background_plans.h"
#include "engine/planning/plans.h"
#include "machine/machine.h"
#include "plan/options.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class PlanFinder {
 public:
  /// Without `background` all plans are made in the call.
  PlanFinder(const Machine& machine, const Settings& settings, Plans& plans,
             BackgroundPlans* background);

  /// From here on no plan is staged at the place.
  void leave_out(PlaceId relay, LeftOutBecause why) { left_out_.add(relay, why); }
  [[nodiscard]] const LeftOutRelays& left_out() const { return left_out_; }
  /// Of copies between these ends.
  [[nodiscard]] LeftOutRelays left_out_for(const CopyCall& call, const CopyEnds& ends) const;
  /// True if copies through the host would wait for this one's reads.
  [[nodiscard]] bool reads_peer(const CopyCall& call, const CopyEnds& ends) const;

  /// The executor that the caller or the settings ask for.
  [[nodiscard]] std::optional<Executor> choice_of(const PlanOptions& options) const;
  /// Not from copies whose paths or executor the caller has chosen.
  [[nodiscard]] bool may_learn(const PlanOptions& options) const;
  /// The options with those of the engine.
  [[nodiscard]] PlanOptions complete(const PlanOptions& options) const;
  /// For the copy alone on the machine.
  [[nodiscard]] PlanRequest request_for(const CopyCall& call, const CopyEnds& ends) const;
  /// The same over these relays only.
  [[nodiscard]] PlanRequest limited_to(const PlaceSet& relays, PlanRequest request) const;

  /// The plan for a copy with such ends.
  [[nodiscard]] PlanPointer by_owners(const PlanPointer& plan, const CopyEnds& ends) {
    return plans_.by_owners(plan, OwnEnds::of(ends));
  }
  /// Null while it is being made. Paths that the caller names explicitly are planned, or refused,
  /// in the call.
  [[nodiscard]] PlanPointer find(const PlanRequest& request);
  [[nodiscard]] PlanPointer find(const SplitRequest& request);
  [[nodiscard]] JointPlanPointer find(const JointRequest& request);
  [[nodiscard]] PieceRecipePointer find(const PieceRequest& request);
  /// Smaller copies between the ends are native without a question.
  [[nodiscard]] Bytes native_threshold(const CopyCall& call, const CopyEnds& ends);

  /// True if each transfer of the plan that is split can have a lane: part of a joint plan may be
  /// worse than none.
  [[nodiscard]] bool has_lanes(const JointPlan& joint) const;

 private:
  template <class Request>
  [[nodiscard]] auto find_known(const Request& request);

  const Machine& machine_;
  const Settings& settings_;
  std::optional<Executor> executor_;  ///< of the settings
  Plans& plans_;
  BackgroundPlans* background_;
  LeftOutRelays left_out_;
};

}  // namespace polypath::engine
