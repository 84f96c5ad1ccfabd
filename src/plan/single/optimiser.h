#pragma once
// Finds the best set of paths for one message, its shares, its chunk counts and its order of issue.
//
// Drafts for different numbers of paths are split by the share program, and their bytes moved until
// the paths end together (splitter.h). Chunk counts around the closed form's are tried next
// (chunk_search.h). Of the drafts, the best few whose paths contend are replayed copy by copy and
// made to end together once more; where copies take turns at engines, other orders are tried
// (engine_turns.h). Last, chunks become larger as long as that costs next to nothing: around the
// best count time hardly changes, and each chunk takes four calls.

#include <vector>

#include "plan/single/chunk_search.h"
#include "plan/single/engine_turns.h"
#include "plan/single/splitter.h"

namespace polypath::plan {

class Optimiser {
 public:
  /// `splitter` outlives it.
  explicit Optimiser(const Splitter& splitter)
      : splitter_(splitter), chunks_(splitter), turns_(splitter) {}

  /// The best draft over subsets of `paths`; paths[0] alone is what it must beat.
  [[nodiscard]] Draft best_subset(const std::vector<Path>& paths) const;

 private:
  [[nodiscard]] std::vector<Path> ranked(const std::vector<Path>& paths) const;
  [[nodiscard]] Draft polish(Draft draft) const;
  [[nodiscard]] Draft replayed(Draft draft) const;
  [[nodiscard]] std::vector<Draft> drafts_of(std::vector<Path> order, const Path& direct) const;
  [[nodiscard]] std::vector<Draft> drafts_with_direct_last(std::vector<Path> staged,
                                                           const Path& direct) const;
  [[nodiscard]] std::vector<Draft> most_promising(std::vector<Draft> drafts,
                                                  std::size_t most) const;
  [[nodiscard]] Draft without_idlers(Draft best) const;

  const Splitter& splitter_;
  ChunkSearch chunks_;
  EngineTurns turns_;
};

}  // namespace polypath::plan
