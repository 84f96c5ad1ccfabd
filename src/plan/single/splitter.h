#pragma once
// Splits one message over given paths: shares, chunk counts, and what the draft stands for.
//
// The share program (share_problem.h) needs T = Ω·b + Δ, and Ω and Δ depend on the chunk count,
// which depends on b: a few rounds settle it. The prediction then says when each path really ends;
// moving bytes from late paths to early ones, b += (T − t)/Ω, makes them end together.

#include <optional>
#include <vector>

#include "model/predict.h"
#include "model/share_problem.h"
#include "plan/single/draft.h"

namespace polypath::plan {

class Splitter {
 public:
  Splitter(const Predictor& predictor, const DraftLimits& limits, Executor executor, Bytes bytes);

  /// The papers' closed-form shares without contention: every path carries something.
  [[nodiscard]] Draft closed_form(const std::vector<Path>& paths) const;
  /// The same over the paths of a draft and one more.
  [[nodiscard]] Draft with_path(const Draft& draft, const Path& path) const;
  /// The closed form without a prediction.
  [[nodiscard]] Draft closed_form_split(const std::vector<Path>& paths) const;
  /// The share program's answer without a prediction; paths may stay without bytes.
  [[nodiscard]] Draft program_split(const std::vector<Path>& paths) const;

  /// Predicts a draft whose shares and chunk counts are set, by replay where paths contend.
  void evaluate(Draft& draft) const;
  void predict(Draft& draft, Effort effort) const;
  /// Moves bytes until the paths end together, by replay where they contend.
  void equalise_well(Draft& draft) const;
  /// Moves bytes in so many rounds, as long as that lowers the cost.
  void equalise(Draft& draft, int rounds, Effort effort) const;
  /// Moves bytes from the paths that end late, by the draft's prediction, to those that end early,
  /// so that all would end together; returns when. Nothing if the prediction is of other paths.
  [[nodiscard]] std::optional<Seconds> level(Draft& draft) const;
  /// Takes paths out that carry next to nothing; one always stays.
  void drop_idle(Draft& draft) const;

  /// The shape that a draft stands for: staged paths rounded to 512 bytes, the first path the rest.
  [[nodiscard]] TransferShape shape_of(const Draft& draft) const;
  /// The shape, and its mirror image if that is under way as well.
  [[nodiscard]] std::vector<TransferShape> together(const TransferShape& shape) const;
  /// The chunk count that the exact pipeline asks for.
  [[nodiscard]] double chunk_count(const Path& path, Bytes bytes) const;
  /// T = Ω·b + Δ of a path with its chunk count, issued after so many others.
  [[nodiscard]] LinearTime linear_time_of(const PathDraft& draft, std::size_t order) const;

  [[nodiscard]] const Predictor& predictor() const { return predictor_; }
  [[nodiscard]] const DraftLimits& limits() const { return limits_; }
  [[nodiscard]] Executor executor() const { return executor_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::vector<Bytes> bytes_of_paths(const Draft& draft) const;
  [[nodiscard]] Seconds chunk_issue_cost() const;

  const Predictor& predictor_;
  DraftLimits limits_;
  Executor executor_;
  Bytes bytes_;
};

}  // namespace polypath::plan
