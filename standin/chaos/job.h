#pragma once
// The work of a queue's entry, in steps between which other entries take their turn.

#include "standin/chaos/chance.h"

namespace polypath::standin::chaos {

/// How far a job is after a step.
enum class JobState {
  more,         ///< another step is to come
  source_read,  ///< the same, and the program may change what it copies from
  not_yet,      ///< nothing could be done: to be tried again
  elsewhere,    ///< another thread does it and says when it is done
  done,
};

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /// Called by the scheduler's thread, without locks.
  virtual JobState step(Chance& chance) = 0;
};

}  // namespace polypath::standin::chaos
