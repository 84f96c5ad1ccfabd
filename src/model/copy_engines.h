#pragma once
// The places at resources that work on few copies at a time: first ready, first served.

#include <deque>
#include <vector>

#include "machine/machine.h"
#include "model/activity.h"

namespace polypath::model {

class CopyEngines {
 public:
  explicit CopyEngines(const Machine& machine);

  /// Takes all engines that the copy needs, or none; then it waits for them.
  [[nodiscard]] bool take_or_wait(const ActivityPointer& copy);
  /// Gives those of a copy back. Returns the waiting copies that have their engines now.
  [[nodiscard]] std::vector<ActivityPointer> give_back(const Activity& copy);

 private:
  [[nodiscard]] bool take(const Activity& copy);

  const Machine& machine_;
  bool any_ = false;                     ///< some resource works on few copies at a time
  std::vector<int> free_;                ///< by resource; kUnlimited of those that take any number
  std::deque<ActivityPointer> waiting_;  ///< ready copies without their engines, in that order
};

}  // namespace polypath::model
