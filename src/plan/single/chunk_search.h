#pragma once
// How many chunks, and how large: each path's by quick prediction, all together by replay, and no
// more of them than are worth their calls.

#include "plan/single/splitter.h"

namespace polypath::plan {

class ChunkSearch {
 public:
  explicit ChunkSearch(const Splitter& splitter) : splitter_(splitter) {}

  /// Tries other counts and smaller first or last chunks of each path, by quick prediction.
  void vary(Draft& draft) const;
  /// Tries smaller last or first chunks and all chunk counts larger or smaller together, by replay.
  void scale(Draft& draft) const;
  /// Copies that take turns at an engine can fall into step, so that one path waits for the other
  /// at every chunk. Another chunk count of one of them breaks the step.
  void break_step(Draft& draft) const;
  /// Larger chunks, of all paths at once, as long as the transfer takes hardly longer: the search
  /// steers by time, which is about the same for all counts around the best.
  [[nodiscard]] Draft with_fewer_calls(Draft best, Seconds direct_alone) const;

 private:
  [[nodiscard]] bool enlarge(Draft& best, Seconds most) const;

  const Splitter& splitter_;
};

}  // namespace polypath::plan
