#pragma once
// Sends pinned windows of pageable copies, each by plan.

#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/decide/path_decider.h"
#include "engine/enqueue/copy_records.h"
#include "engine/enqueue/enqueuer.h"
#include "engine/execute/lanes.h"
#include "engine/pageable/pageable.h"
#include "engine/planning/plan_finder.h"

namespace polypath::engine {

/// Thread-safe: takes `mutex`, the engine's.
class WindowSender {
 public:
  WindowSender(Driver& driver, BriefMutex& mutex, Lanes& lanes, PlanFinder& plans,
               PathDecider& paths, Enqueuer& enqueuer, CopyRecords& records);

  /// Counted with the copy that it is a part of.
  PageableCopies::Sent send(PageableCopies::WindowCall sent);

 private:
  Driver& driver_;
  BriefMutex& mutex_;
  Lanes& lanes_;
  PlanFinder& plans_;
  PathDecider& paths_;
  Enqueuer& enqueuer_;
  CopyRecords& records_;
};

}  // namespace polypath::engine
