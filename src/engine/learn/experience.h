#pragma once
// Measured times of transfers: whether several paths are as good as predicted, and which split
// would be better. Arithmetic only; the engine does the measuring.
//
// Transfers are alike if they go from and to the same places and are of one size class
// (contention.h). Only transfers that have the machine to themselves count: the times of concurrent
// transfers are not attributable. Of those that are planned over several paths some are timed:
//
//   1. The first ones only make what they need, and are not looked at. Then every other one is
//   timed
//      as it is planned, three times.
//   2. A kind that takes clearly longer than predicted is in doubt, and some of its transfers go
//      natively to be compared: every other one if it takes longer than a native copy should, else
//      one in kMildPeriod. A kind that is in no doubt is compared as well, but seldom.
//   3. One in kMildPeriod, in grave doubt in kGravePeriod, tries another split, three times each.
//      Paths are timed one by one, and if all could end clearly earlier by ending together, their
//      shares are rebalanced (plan/single/rebalanced.h), a few times. Then, after doubt, more
//      chunks are tried, and if that is no better, fewer.
//   4. From then on one in kOwnPeriod is timed.
//
// All others go the faster way, the best split or a native copy, by the medians of the last times.
// The slower way is tried now and then, because it need not remain slower.
//
// What goes otherwise than the best known way is a trial, and there is one of a kind at a time: the
// next one comes when its time has been read. Else all of a queue that is held would be trials.
//
// Everything is counted in transfers, not in time, and by each kind for itself.

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/execute/stopwatch.h"
#include "engine/learn/recent_times.h"
#include "plan/lru_cache.h"
#include "plan/single/rebalanced.h"

namespace polypath::engine {

/// Transfers from whose times one can tell what the next one of them will take.
struct TransferKind {
  PlaceId source;
  PlaceId destination;
  Bytes size;  ///< class

  auto operator<=>(const TransferKind&) const = default;
};

/// The experience with one kind.
struct Learnt {
  Split split;            ///< of transfers over several paths
  bool natively = false;  ///< one native copy is faster
  Seconds paths;          ///< median of the last transfers over several paths
  Seconds native;         ///< of the last native ones; zero if there were none
  int transfers = 0;      ///< so far
};

/// How one transfer is to be done.
struct Advice {
  bool natively = false;
  bool timed = false;
  bool path_by_path = false;  ///< and by streams, because a graph's paths cannot be timed
  Split split = {};           ///< of its plan, if it does not go natively
  int version = 0;            ///< of the split that is tried: times of an older one say nothing
  bool trial = false;         ///< timed to compare it, not for being known as the best
};

/// What may be timed of the next transfer.
enum class MayTime {
  nothing,
  what_is_known,  ///< no trial: one of the same kind is under way
  anything,
};

class Experience {
 public:
  explicit Experience(std::size_t kinds) : records_(kinds) {}

  /// About the next transfer of a kind, which is planned like that; counts it.
  Advice suggest(const TransferKind& kind, const Plan& plan, MayTime may);
  /// `rebalance_shares` for the plan that was timed, of measured times and a damping.
  using Leveller = std::function<std::optional<LevelledShares>(std::span<const Seconds>, double)>;
  /// A transfer of the kind took so long.
  void note_native(const TransferKind& kind, Seconds took);
  void note_paths(const TransferKind& kind, int version, const Timing& timing,
                  const Leveller& leveller);

  /// All kinds of which something is known.
  [[nodiscard]] std::vector<std::pair<TransferKind, Learnt>> learnt() const;
  /// How often that has changed in a way that matters to the next transfers.
  [[nodiscard]] int changes() const { return changes_; }
  /// Takes up where `learnt` was.
  void recall(const TransferKind& kind, const Learnt& learnt);

 private:
  /// The purpose of timing a kind's transfers.
  enum class Stage { as_planned, shares, rebalanced, more_chunks, fewer_chunks, settled };
  enum class Doubt { none, mild, grave };

  struct Record {
    Learnt known;
    Learnt kept;  ///< when it was certain last; no transfers: never
    Stage stage = Stage::as_planned;
    Doubt doubt = Doubt::none;
    bool was_doubted = false;       ///< ever
    RecentTimes paths, native;      ///< of the split that is tried, and natively
    std::vector<RecentTimes> each;  ///< by path, while shares are rebalanced
    Split tried;
    int version = 0;                     ///< of it
    Seconds took = Seconds::infinity();  ///< with the best split, which is the known one
    Split rebalanced;
    Seconds levelled_took = Seconds::infinity();  ///< path by path, which takes longer
    double damping = 1;
    int rounds = 0;  ///< of the stage
    int since_timed = 0;
    int since_tried = 0;  ///< the slower one
  };

  [[nodiscard]] Record& record_of(const TransferKind& kind);
  [[nodiscard]] static Doubt doubt_of(const Record& record, const Plan& plan);
  [[nodiscard]] static Advice suggest(Record& record, const Plan& plan, MayTime may);
  [[nodiscard]] static bool is_tried_otherwise(Record& record);
  [[nodiscard]] static bool is_timed(Record& record);
  static void choose(Record& record);
  void note_change(Record& record);
  static void add_each(Record& record, const Timing& timing);
  static void improve(Record& record, const Leveller& leveller);
  static void level(Record& record, const Leveller& leveller);
  static void end_of_shares(Record& record);
  static void vary_chunks(Record& record);
  static void enter(Record& record, Stage stage);
  [[nodiscard]] static bool is_best(Record& record);
  static void try_split(Record& record, const Split& split);

  LruCache<TransferKind, Record> records_;
  int changes_ = 0;
};

}  // namespace polypath::engine
