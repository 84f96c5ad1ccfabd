#pragma once
// Decides whether a copy of pageable memory goes through pinned windows.

#include "core/settings.h"
#include "engine/decide/decision.h"
#include "engine/learn/way_times.h"
#include "engine/pageable/pageable.h"
#include "engine/planning/plan_finder.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class WindowDecider {
 public:
  WindowDecider(const Machine& machine, const Settings& settings, PlanFinder& plans,
                const PageableCopies& pageable);

  /// True if the copy may go through windows. Errors of options that cannot be used: they are
  /// refused now, before anything is enqueued.
  [[nodiscard]] bool is_possible(const CopyCall& call, const CopyEnds& ends);
  /// Through windows, or by the driver's own copy where that is faster: see WayTimes.
  void decide(Decision& decision);
  /// Such a copy took so long.
  void note(const Decision& decision, ComparedWay way, Seconds took);

 private:
  const Machine& machine_;
  const Settings& settings_;
  PlanFinder& plans_;
  const PageableCopies& pageable_;
  WayTimes ways_;
};

}  // namespace polypath::engine
