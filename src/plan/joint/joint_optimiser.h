#pragma once
// Finds what each of several transfers does so that together they are over early.
//
// Drafts come from the joint share program (joint_starts.h): as it is; for ends in proportion to
// the native ones; without paths that would carry little; without those through hosts; without
// those that take from the direct paths of others; and from what each would do alone. Each is
// improved by the quick prediction, and the best few by playing every copy:
//
//   level, relieve, shift  bytes move between paths (byte_mover.h)
//   rescale                chunk counts change (joint_chunk_search.h)
//   reorder                the paths of a transfer are issued in another order, where they take
//                          turns at engines
//   release, repair        paths are given up (path_pruner.h)

#include <vector>

#include "plan/joint/byte_mover.h"
#include "plan/joint/joint_chunk_search.h"
#include "plan/joint/joint_draft.h"
#include "plan/joint/joint_starts.h"
#include "plan/joint/path_pruner.h"

namespace polypath::plan {

class JointOptimiser {
 public:
  explicit JointOptimiser(const JointPredictor& predictor)
      : predictor_(predictor), mover_(predictor), chunks_(predictor), pruner_(predictor) {}

  /// The share program's answers to the questions above, the first one to the plain question.
  [[nodiscard]] std::vector<JointDraft> starts() const { return JointStarts(predictor_).drafts(); }
  /// The answer to the plain question without paths that would carry little, its ends rebalanced by
  /// the quick prediction.
  [[nodiscard]] JointDraft levelled_shares() const;
  /// The best harmless draft found from these.
  [[nodiscard]] JointDraft best(std::vector<JointDraft> drafts) const;
  /// A draft improved by playing every copy, and made harmless if that can be had.
  [[nodiscard]] JointDraft finished(JointDraft draft) const;

 private:
  [[nodiscard]] std::vector<JointDraft> improved_quickly(std::vector<JointDraft> drafts) const;
  [[nodiscard]] JointDraft replayed(JointDraft draft) const;
  void polish(JointDraft& draft) const;
  [[nodiscard]] bool reorder(JointDraft& draft) const;
  [[nodiscard]] JointDraft one_by_one() const;
  [[nodiscard]] Seconds bound() const;

  const JointPredictor& predictor_;
  ByteMover mover_;
  JointChunkSearch chunks_;
  PathPruner pruner_;
};

}  // namespace polypath::plan
