#pragma once
// Chunk counts of transfers that run together: all at once, and each transfer's.

#include "plan/joint/byte_mover.h"
#include "plan/joint/joint_draft.h"

namespace polypath::plan {

class JointChunkSearch {
 public:
  explicit JointChunkSearch(const JointPredictor& predictor)
      : predictor_(predictor), mover_(predictor) {}

  /// Larger and smaller chunks everywhere, and smaller first or last ones.
  void rescale(JointDraft& draft, Effort effort) const;
  /// The same for each transfer: the one that is issued first keeps the others waiting.
  void rescale_each(JointDraft& draft) const;
  /// Copies that take turns at an engine can fall into step, so that one path of a transfer waits
  /// for another and no move of bytes makes them end together. Another chunk count breaks the step.
  void break_steps(JointDraft& draft) const;

 private:
  [[nodiscard]] bool scale(JointDraft& draft, std::size_t first, std::size_t count, double factor,
                           int taper, Effort effort) const;

  const JointPredictor& predictor_;
  ByteMover mover_;
};

}  // namespace polypath::plan
