#pragma once
// Records copies that have been enqueued, for those that are decided next, and counts them.

#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/call/statistics.h"
#include "engine/decide/decision.h"
#include "engine/decide/recent_natives.h"
#include "engine/learn/learner.h"
#include "engine/load/load_tracker.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class CopyRecords {
 public:
  CopyRecords(Driver& driver, Statistics& statistics, Learner& learner, LoadTracker& load,
              RecentNatives& recent)
      : driver_(driver), statistics_(statistics), learner_(learner), load_(load), recent_(recent) {}

  /// The copy was done like that.
  void note(const Decision& decision, const CopyResult& result);
  /// Others are to know of it.
  void note_load(const Decision& decision);
  /// It was not done. Returns where its memory is; throws the error of the call, if it is the
  /// caller's fault.
  CopyEnds note_failure(const Decision& decision);

  /// A copy among pieces, which went over several paths or was not done.
  void count_piece(const CopyCall& call);
  void count_failed_piece(const CopyCall& call);
  void count_staged(const Plan& plan);

 private:
  void count_asked(const CopyCall& call);
  void count_done(const CopyResult& result);

  Driver& driver_;
  Statistics& statistics_;
  Learner& learner_;
  LoadTracker& load_;
  RecentNatives& recent_;
};

}  // namespace polypath::engine
