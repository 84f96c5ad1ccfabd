#pragma once
// Finds what each of several transfers does so that together they are over early.
//
// Drafts come from the joint share program, with chunk counts settled as in optimiser.h: as it is;
// for ends in proportion to the native ones; without paths that would carry little; without those
// through hosts; without those that take from the direct paths of others; and from what each would
// do alone. Each is improved by the quick prediction, and the best few by playing every copy:
//
//   level    bytes move from each transfer's late paths to its early ones
//   relieve  the last transfer gives parts of its latest path to the path that is best
//   shift    a part of what one path of one transfer carries goes to another, if that lowers the
//            cost of the whole: the cost of a relay to others shows only in their ends
//   rescale  chunk counts, all together and of each transfer; smaller chunks at the exposed end
//   reorder  the paths of a transfer are issued in another order, where they take turns at engines
//   release  a transfer becomes native, or loses a path, if nothing is lost by it
//   repair   the same, or larger chunks, wherever it lessens the regret of a transfer

#include <vector>

#include "model/joint_shares.h"
#include "plan/joint/joint_draft.h"
#include "plan/load.h"

namespace polypath {

class JointOptimiser {
 public:
  explicit JointOptimiser(const JointPredictor& predictor) : predictor_(predictor) {}

  /// The share program's answers to the questions above, the first one to the plain question.
  [[nodiscard]] std::vector<JointDraft> starts() const;
  /// The answer to the plain question without paths that would carry little, its ends rebalanced by
  /// the quick prediction.
  [[nodiscard]] JointDraft levelled_shares() const;
  /// The best harmless draft found from these.
  [[nodiscard]] JointDraft best(std::vector<JointDraft> drafts) const;
  /// A draft improved by playing every copy, and made harmless if that can be had.
  [[nodiscard]] JointDraft finished(JointDraft draft) const;

 private:
  // Variants of the share program.
  struct Start {
    bool in_proportion = false;  // λ as the native ends, else 1
    bool hosts = true;           // paths through hosts as well
    bool polite = false;         // only paths that leave the direct ones of others alone
    bool alone = false;          // each as if the others were not there
    double least_part = 0;       // paths that carry less of their transfer stay idle
  };

  // joint_starts.cc
  [[nodiscard]] JointDraft program_draft(const Start& start) const;
  [[nodiscard]] std::vector<std::vector<Path>> paths_for(const Start& start) const;
  [[nodiscard]] Load direct_load_of_others(std::size_t transfer) const;
  [[nodiscard]] JointDraft even_split(const std::vector<std::vector<Path>>& paths) const;
  void settle_chunks(JointDraft& draft) const;
  void resolve_shares(JointDraft& draft, const Start& start) const;
  [[nodiscard]] JointPaths problem_of(const JointDraft& draft, std::size_t transfer,
                                      const Start& start) const;
  void sort_paths(JointDraft& draft) const;
  void keep_most_useful(JointDraft& draft) const;

  // joint_optimiser.cc
  [[nodiscard]] std::vector<JointDraft> improved_quickly(std::vector<JointDraft> drafts) const;
  [[nodiscard]] JointDraft replayed(JointDraft draft) const;
  void polish(JointDraft& draft) const;
  [[nodiscard]] Seconds bound() const;
  void level(JointDraft& draft, int rounds, Effort effort) const;
  [[nodiscard]] bool shift_once(JointDraft& draft, double part, Effort effort) const;
  [[nodiscard]] bool shift_between(JointDraft& draft, std::size_t transfer, double part,
                                   Effort effort) const;
  [[nodiscard]] bool move_part(Draft& own, std::size_t transfer, const Path& giver,
                               const Path& taker, double part) const;
  [[nodiscard]] bool scale_chunks(JointDraft& draft, std::size_t first, std::size_t count,
                                  double factor, int taper, Effort effort) const;
  void rescale(JointDraft& draft, Effort effort) const;
  void rescale_each(JointDraft& draft) const;
  void break_steps(JointDraft& draft) const;
  [[nodiscard]] bool reorder(JointDraft& draft) const;
  [[nodiscard]] bool consider(JointDraft trial, JointDraft& best, Effort effort) const;

  // prune_paths.cc
  [[nodiscard]] bool relieve(JointDraft& draft, std::size_t transfer, const Path& giver) const;
  [[nodiscard]] bool relieve_last(JointDraft& draft) const;
  void release(JointDraft& draft) const;
  [[nodiscard]] bool release_one(JointDraft& draft) const;
  void repair(JointDraft& draft) const;
  [[nodiscard]] JointDraft one_by_one() const;
  [[nodiscard]] bool repair_once(JointDraft& draft) const;

  const JointPredictor& predictor_;
};

}  // namespace polypath
