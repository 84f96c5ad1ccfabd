#pragma once
// Finds shares and chunk counts for a given set of paths and a way to execute them.
//
// The share program (share_problem.h) needs T = Ω·b + Δ, and Ω and Δ depend on the chunk count,
// which depends on b: a few rounds settle it. The prediction then says when each path really ends;
// moving bytes from late paths to early ones, b += (T − t)/Ω, makes them end together. Chunk counts
// around the closed form's are tried next. Of the drafts for different numbers of paths, the best
// few whose paths contend are replayed copy by copy and made to end together once more. Last,
// chunks become larger as long as that costs next to nothing: around the best count time hardly
// changes, and each chunk takes four calls.

#include <optional>
#include <vector>

#include "model/chunks.h"
#include "model/predict.h"
#include "model/share_problem.h"

namespace polypath {

/// One path's part of a draft.
struct PathDraft {
  Path path;
  double share = 0;
  double chunks = 1;
  int taper = 0;
};

/// A set of paths with shares and chunk counts, and its predicted time.
struct Draft {
  std::vector<PathDraft> paths;
  Prediction prediction;
};

/// A second of the calling thread is worth this much transfer time: among splits that are as good,
/// the one with fewer calls leaves the thread to the program and to its other transfers.
inline constexpr double kCallWeight = 0.05;

/// The cost by which drafts are compared: the transfer's time, and a little of the calling
/// thread's.
Seconds cost_of(const Draft& draft);
/// True if the draft with a path more saves enough, the calling thread's time included.
bool is_worth_a_path(const Draft& more, const Draft& fewer);

/// A part of a message, to the nearest byte.
Bytes share_of(Bytes bytes, double share);

/// The paths of a draft, in its order.
std::vector<Path> paths_of(const Draft& draft);

/// The same draft with one of its paths issued last.
Draft with_last(Draft draft, const Path& path);

/// It with its paths the other way round, and with each of them last.
std::vector<Draft> other_orders(const Draft& draft);

/// The limits of a draft.
struct OptimiserLimits {
  ChunkBounds chunks;
  int slots = 4;
  int max_paths = 16;
  /// Another transfer of the same shape goes from the destination to the source meanwhile.
  bool both_ways = false;
};

class Optimiser {
 public:
  Optimiser(const Predictor& predictor, const OptimiserLimits& limits, Executor executor,
            Bytes bytes);

  /// The best draft over subsets of `paths`; paths[0] alone is what it must beat.
  [[nodiscard]] Draft best_subset(const std::vector<Path>& paths) const;
  /// The papers' closed-form shares without contention: every path carries something.
  [[nodiscard]] Draft closed_form(const std::vector<Path>& paths) const;
  /// The same over the paths of a draft and one more.
  [[nodiscard]] Draft with_path(const Draft& draft, const Path& path) const;
  /// Moves bytes until the paths end together, by replay where they contend.
  void equalise_well(Draft& draft) const;
  /// The closed form without a prediction.
  [[nodiscard]] Draft closed_form_split(const std::vector<Path>& paths) const;
  /// Predicts a draft whose shares and chunk counts are set, by replay where paths contend.
  void evaluate(Draft& draft) const;
  /// The shape that a draft stands for: staged paths rounded to 512 bytes, the first path the rest.
  [[nodiscard]] TransferShape shape_of(const Draft& draft) const;
  /// The chunk count that the exact pipeline asks for.
  [[nodiscard]] double chunk_count(const Path& path, Bytes bytes) const;
  /// T = Ω·b + Δ of a path with its chunk count, issued after so many others.
  [[nodiscard]] LinearTime linear_time_of(const PathDraft& draft, std::size_t order) const;
  /// Takes paths out that carry next to nothing; one always stays.
  void drop_idle(Draft& draft) const;
  /// True if some engine is wanted by more of its copies than it serves at a time: then it counts
  /// in which order they are issued.
  [[nodiscard]] bool takes_turns(const Draft& draft) const;
  /// Moves bytes from the paths that end late, by the draft's prediction, to those that end early,
  /// so that all would end together; returns when. Nothing if the prediction is of other paths.
  [[nodiscard]] std::optional<Seconds> level(Draft& draft) const;

 private:
  [[nodiscard]] Draft program_draft(const std::vector<Path>& paths) const;
  [[nodiscard]] std::vector<Path> ranked(const std::vector<Path>& paths) const;
  [[nodiscard]] Draft polish(Draft draft) const;
  [[nodiscard]] std::vector<Draft> drafts_of(std::vector<Path> order, const Path& direct) const;
  enum class Effort { quick, replay };  ///< which prediction to steer by

  [[nodiscard]] std::vector<Bytes> bytes_of_paths(const Draft& draft) const;
  [[nodiscard]] std::vector<TransferShape> together(const TransferShape& shape) const;
  void predict(Draft& draft, Effort effort) const;
  void equalise(Draft& draft, int rounds, Effort effort) const;
  void vary_chunks(Draft& draft) const;
  void scale_chunks(Draft& draft) const;
  void break_step(Draft& draft) const;
  // optimiser_order.cc
  [[nodiscard]] bool holds_up_others(const Draft& draft, const Path& direct) const;
  [[nodiscard]] std::vector<Draft> drafts_with_direct_last(std::vector<Path> staged,
                                                           const Path& direct) const;
  [[nodiscard]] std::vector<Use> claims_of_all_ways(const Path& path) const;
  [[nodiscard]] Seconds time_without_turns(const std::vector<Path>& paths) const;
  [[nodiscard]] bool loses_time_by_turns(const Draft& best, const std::vector<Path>& paths) const;
  void reorder(Draft& draft) const;

  [[nodiscard]] Draft replayed(Draft draft) const;
  [[nodiscard]] std::vector<Draft> most_promising(std::vector<Draft> drafts,
                                                  std::size_t most) const;
  [[nodiscard]] Draft without_idlers(Draft best) const;
  [[nodiscard]] Draft with_fewer_calls(Draft best, Seconds direct_alone) const;
  [[nodiscard]] bool enlarge_chunks(Draft& best, Seconds most) const;
  [[nodiscard]] Seconds chunk_issue_cost() const;

  const Predictor& predictor_;
  OptimiserLimits limits_;
  Executor executor_;
  Bytes bytes_;
};

}  // namespace polypath
