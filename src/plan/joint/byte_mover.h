#pragma once
// Moves bytes between the paths of transfers that run together.
//
//   level    bytes move from each transfer's late paths to its early ones
//   relieve  the last transfer gives parts of its latest path to the path that is best
//   shift    a part of what one path of one transfer carries goes to another, if that lowers the
//            cost of the whole: the cost of a relay to others shows only in their ends

#include "plan/joint/joint_draft.h"

namespace polypath::plan {

class ByteMover {
 public:
  explicit ByteMover(const JointPredictor& predictor) : predictor_(predictor) {}

  void level(JointDraft& draft, int rounds, Effort effort) const;
  /// The last transfer's latest path gives; where that is no help, paths of others that take of
  /// what it needs. True if it helped.
  [[nodiscard]] bool relieve_last(JointDraft& draft) const;
  /// Tries it for each pair of paths of each transfer, with this part of a message.
  [[nodiscard]] bool shift(JointDraft& draft, double part, Effort effort) const;
  /// One such move. False if there is nothing to move, or no room for another path.
  [[nodiscard]] bool move_part(Draft& own, std::size_t transfer, const Path& giver,
                               const Path& taker, double part) const;

 private:
  [[nodiscard]] bool relieve(JointDraft& draft, std::size_t transfer, const Path& giver) const;
  [[nodiscard]] bool shift_between(JointDraft& draft, std::size_t transfer, double part,
                                   Effort effort) const;
  [[nodiscard]] bool consider(JointDraft trial, JointDraft& best, Effort effort) const;

  const JointPredictor& predictor_;
};

}  // namespace polypath::plan
