#pragma once
// Decides by which plan a copy goes, alone or beside what else is in flight, and whether over
// several paths at all.

#include <optional>

#include "core/settings.h"
#include "driver/driver.h"
#include "engine/decide/decision.h"
#include "engine/decide/experience_decider.h"
#include "engine/decide/graph_amortizer.h"
#include "engine/decide/recent_parts.h"
#include "engine/load/load_tracker.h"
#include "engine/planning/plan_finder.h"
#include "engine/prepare/preparer.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class PathDecider {
 public:
  PathDecider(Driver& driver, const Machine& machine, const Settings& settings, PlanFinder& plans,
              LoadTracker& load, Preparer& preparer, ExperienceDecider& experience);

  /// For a copy that is large enough, between memories that stay where they are.
  void decide(Decision& decision);
  /// By its part of the recurring set, if all of that is known; else by the plan beside the other
  /// transfers in flight. Experience is not asked.
  void decide_beside_others(Decision& decision);
  /// Looks at the transfers that a copy would share the machine with now.
  void query_contention(Decision& decision, PlaceId source, PlaceId destination,
                        LoadTracker::Depth depth = LoadTracker::Depth::full);
  /// A brief native copy is not counted as load; a longer one is, so that other transfers see it.
  [[nodiscard]] bool is_brief(const Plan& plan) const;

  /// The same copy over those relays that are ready while others are being prepared. None if no
  /// such relay gains, and for a copy that shares the machine with others, for whom it was planned.
  [[nodiscard]] std::optional<Decision> over_ready_relays(const Decision& decision);

 private:
  /// A request, and the plan that was found for it; null if that was not asked yet.
  struct Asked {
    PlanRequest request;
    PlanPointer plan = nullptr;
  };

  Asked plan_alone(Decision& decision);
  void decide_beside_others(Decision& decision, std::optional<Asked> alone);
  void plan_by_itself(Decision& decision, std::optional<Asked> alone);
  void avoid_graph_for_now(Decision& decision, PlanRequest request);
  [[nodiscard]] FallbackReason use_joint_plan(Decision& decision);
  [[nodiscard]] JointPlanPointer joint_plan_of(const RecurringSet& set, Executor executor);
  [[nodiscard]] bool yields_to_other_processes(const Decision& decision) const;
  void leave_hosts_out(Decision& decision);

  Driver& driver_;
  const Machine& machine_;
  PlanFinder& plans_;
  LoadTracker& load_;
  Preparer& preparer_;
  ExperienceDecider& experience_;
  RecentParts recent_parts_;
  GraphAmortizer graph_amortizer_;
};

}  // namespace polypath::engine
