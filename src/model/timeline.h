#pragma once
// Programs on a timeline: when each node runs, played copy by copy (fluid.h), with the waits of the
// executors.

#include <vector>

#include "model/fluid.h"
#include "model/issue.h"
#include "model/program.h"

namespace polypath {

class Timeline {
 public:
  Timeline(const Machine& machine, HopRates& rates) : machine_(machine), fluid_(machine, rates) {}

  /// Puts a program's nodes onto it, the call being made at `start`. Returns them in order; they
  /// have their times after play().
  std::vector<ActivityPointer> add(const Program& program, const IssueTimes& issue, Seconds start);
  /// Plays all that has been added.
  void play() { fluid_.drain(); }

 private:
  const Machine& machine_;
  Fluid fluid_;
};

}  // namespace polypath
