#pragma once
// Takes paths from transfers, and being split at all, where that costs nothing or mends harm.

#include "plan/joint/byte_mover.h"
#include "plan/joint/joint_draft.h"

namespace polypath::plan {

class PathPruner {
 public:
  explicit PathPruner(const JointPredictor& predictor) : predictor_(predictor), mover_(predictor) {}

  /// Transfers become native, or lose paths, until nothing more can be given up without a loss.
  void release(JointDraft& draft) const;
  /// Steps back, to fewer paths or larger chunks, until no transfer ends later than natively, or no
  /// step helps.
  void repair(JointDraft& draft) const;

 private:
  [[nodiscard]] bool release_one(JointDraft& draft) const;
  [[nodiscard]] bool repair_once(JointDraft& draft) const;

  const JointPredictor& predictor_;
  ByteMover mover_;
};

}  // namespace polypath::plan
