#pragma once
// How one message may be split over paths, before it is a plan.

#include <vector>

#include "model/chunks.h"
#include "model/predict.h"
#include "model/tolerance.h"

namespace polypath::plan {

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
/// What another path, or another search, must leave of the cost.
inline constexpr double kWorthAPath = 1 - kAlike;
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
struct DraftLimits {
  ChunkBounds chunks;
  int slots = 4;
  int max_paths = 16;
  /// Another transfer of the same shape goes from the destination to the source meanwhile.
  bool both_ways = false;
};

enum class Effort { quick, replay };  ///< which prediction to steer by

}  // namespace polypath::plan
