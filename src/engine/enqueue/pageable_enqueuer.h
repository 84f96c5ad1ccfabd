#pragma once
// Carries out decisions about copies with pageable or managed memory at an end.

#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/decide/decision.h"
#include "engine/decide/window_decider.h"
#include "engine/enqueue/copy_records.h"
#include "engine/enqueue/enqueuer.h"
#include "engine/pageable/pageable.h"
#include "engine/prepare/window_preparer.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Thread-safe: takes `mutex`, the engine's, but not while the driver may block.
class PageableEnqueuer {
 public:
  PageableEnqueuer(Driver& driver, const Machine& machine, BriefMutex& mutex,
                   PageableCopies& pageable, WindowDecider& decider, WindowPreparer& preparer,
                   Enqueuer& enqueuer, CopyRecords& records);

  /// As Enqueuer::enqueue, for a copy that may block.
  CopyResult enqueue(const Decision& decision, NativeCopyBy maker);

 private:
  [[nodiscard]] CopyResult attempt(const Decision& decision);
  CopyResult copy_to_compare(const Decision& decision);
  void note_time(const Decision& decision, ComparedWay way, Seconds took);
  [[nodiscard]] Seconds last_window_in(const Decision& decision) const;

  Driver& driver_;
  const Machine& machine_;
  BriefMutex& mutex_;
  PageableCopies& pageable_;
  WindowDecider& decider_;
  WindowPreparer& preparer_;
  Enqueuer& enqueuer_;
  CopyRecords& records_;
};

}  // namespace polypath::engine
