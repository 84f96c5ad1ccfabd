#pragma once
// Decides how a copy is done: natively, by which plan, or through pinned windows. Deciding enqueues
// nothing.

#include <optional>

#include "driver/driver.h"
#include "engine/decide/decision.h"
#include "engine/decide/path_decider.h"
#include "engine/decide/recent_natives.h"
#include "engine/decide/window_decider.h"
#include "engine/planning/plan_finder.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class Decider {
 public:
  Decider(Driver& driver, PlanFinder& plans, RecentNatives& recent, PathDecider& paths,
          WindowDecider& windows)
      : driver_(driver), plans_(plans), recent_(recent), paths_(paths), windows_(windows) {}

  /// See Engine::decide. A caller that knows the ends knows that the stream is not being captured.
  [[nodiscard]] Decision decide(const CopyCall& call, const CopyEnds* known_ends = nullptr);
  /// See Engine::recall.
  [[nodiscard]] std::optional<Decision> recall(const CopyCall& call);

 private:
  [[nodiscard]] bool recall(Decision& decision);

  Driver& driver_;
  PlanFinder& plans_;
  RecentNatives& recent_;
  PathDecider& paths_;
  WindowDecider& windows_;
};

}  // namespace polypath::engine
