#pragma once
// Where a joint search starts: the joint share program's answers to a few neighbouring questions,
// with chunk counts settled as in splitter.h.

#include <vector>

#include "model/joint_shares.h"
#include "plan/joint/joint_draft.h"
#include "plan/load.h"

namespace polypath::plan {

class JointStarts {
 public:
  explicit JointStarts(const JointPredictor& predictor) : predictor_(predictor) {}

  /// A variant of the share program.
  struct Start {
    bool in_proportion = false;  ///< λ as the native ends, else 1
    bool hosts = true;           ///< paths through hosts as well
    bool polite = false;         ///< only paths that leave the direct ones of others alone
    bool alone = false;          ///< each as if the others were not there
    double least_part = 0;       ///< paths that carry less of their transfer stay idle
  };

  /// The answers to all of them, the first one to the plain question.
  [[nodiscard]] std::vector<JointDraft> drafts() const;
  /// The answer to one of them.
  [[nodiscard]] JointDraft draft(const Start& start) const;

 private:
  [[nodiscard]] std::vector<std::vector<Path>> paths_for(const Start& start) const;
  [[nodiscard]] Load direct_load_of_others(std::size_t transfer) const;
  [[nodiscard]] JointDraft even_split(const std::vector<std::vector<Path>>& paths) const;
  void settle_chunks(JointDraft& draft) const;
  void resolve_shares(JointDraft& draft, const Start& start) const;
  [[nodiscard]] JointPaths problem_of(const JointDraft& draft, std::size_t transfer,
                                      const Start& start) const;
  void sort_paths(JointDraft& draft) const;
  void keep_most_useful(JointDraft& draft) const;

  const JointPredictor& predictor_;
};

}  // namespace polypath::plan
