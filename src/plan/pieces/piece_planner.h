#pragma once
// How many small copies between the same two places, asked for together, are best made: as copies
// (model/pieces.h) or, where the caller allows that, as kernels (piece_kernels.h).
//
// A piece of n bytes costs each hop α + n/β, and the calling thread the time c of its calls: one
// copy directly; two over a staged path, and two records and two waits for each chunk of m pieces.
// So per byte, path p takes Ω_p = max over its hops of (α + n/β)/n, and the calling thread is one
// more resource, of which it takes c_p/n and there is a second per second. The shares are those of
// the share program over all of that (model/share_problem.h); then pieces are dealt out, played
// copy by copy on the timeline, and shares moved from late paths to early ones.
//
// How pieces go is decided once for all sets that are about alike: as many, by half an octave, of
// the same mean size, by half an octave. Copies of a piece cost α + n/β, so that the time of a set
// depends on their number and their total alone, and from kMostPlayed on on the mean. A set has
// hundreds of copies, so that to play each would take as long as to make them.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/pieces.h"
#include "plan/lru_cache.h"
#include "plan/single/planner.h"

namespace polypath::plan {

/// More pieces go like so many.
inline constexpr std::size_t kMostPlayed = 256;

/// Sets that go alike.
struct PieceRequest {
  PlaceId source;
  PlaceId destination;
  std::size_t pieces = 0;            ///< at most kMostPlayed
  Bytes mean;                        ///< of their sizes
  std::size_t copies_per_piece = 1;  ///< asked for: neighbours have become one piece
  /// Of the stream; none: pieces are not to go by kernels.
  std::optional<PlaceId> issuer = {};
  bool plan_copies = true;  ///< false: by kernels, or natively
  bool batched = false;     ///< natively they are one batch
  LeftOutRelays left_out = {};

  auto operator<=>(const PieceRequest&) const = default;
};

/// The request for `pieces` of `bytes` in all, which `copies` were asked for, as copies. None of
/// the numbers is 0.
PieceRequest piece_request(PlaceId source, PlaceId destination, std::size_t pieces, Bytes bytes,
                           std::size_t copies);

/// How sets of one kind go.
struct PieceRecipe {
  PieceSplit split;
  std::optional<PlaceId> issuer;  ///< they go by kernels, and this GPU's in the caller's stream
  /// That of so many equal pieces; native if that is best.
  PlanPointer plan;
  Path direct;
  Seconds fixed = {};  ///< what of its time does not grow with the bytes: launches of kernels
};

using PieceRecipePointer = std::shared_ptr<const PieceRecipe>;

/// The plan for pieces of these sizes by a recipe that is not native: its program has two buffers
/// per piece. Its times are those of the recipe, in proportion to the bytes but for what is fixed.
PlanPointer plan_of(const Machine& machine, const PieceRecipe& recipe, std::span<const Bytes> sizes,
                    int slots);

/// The same set as native copies, for what else is in flight: without a program. The recipe's time
/// of them, in proportion to the bytes.
PlanPointer native_plan_of(const PieceRecipe& recipe, Bytes bytes);

/// Finds recipes under the settings of a planner. Not thread-safe.
class PiecePlanner {
 public:
  explicit PiecePlanner(Planner& planner);

  /// Recipes are cached. Errors as Planner::usable_paths.
  PieceRecipePointer recipe(const PieceRequest& request);

 private:
  struct Draft;
  struct Problem;

  [[nodiscard]] PieceRecipePointer make(const PieceRequest& request);
  [[nodiscard]] Seconds time_natively(const PieceRequest& request, const Path& direct);
  [[nodiscard]] Seconds time_without_bytes(Draft draft, const Problem& problem);
  [[nodiscard]] Draft best(const Problem& problem);
  [[nodiscard]] Draft best_by_copies(const Problem& problem);
  [[nodiscard]] std::optional<Draft> best_by_kernels(const Problem& problem);
  void play(const Problem& problem, Draft& draft);
  void play_levels(const Problem& problem, Draft draft, Draft& best);

  Planner& planner_;
  HopRates rates_;
  LruCache<PieceRequest, PieceRecipePointer> recipes_;
};

}  // namespace polypath::plan
