#pragma once
// What transfers really took: whether several paths are as good as predicted, and what would be
// better. Arithmetic only; the engine does the measuring.
//
// Transfers are alike if they go from and to the same places, are of one size class (company.h) and
// have the same company. Of those that are planned over several paths some are timed:
//
//   1. The first ones only make what they need, and are not looked at.
//   2. Three are timed as they are planned.
//   3. Three are timed path by path. If their paths could all end clearly earlier by ending
//      together, the shares are levelled (plan/levelled.h), and it begins again. The best shares of
//      a few rounds stay, if they are better than the plan's.
//   4. More chunks are tried, and if that is no better, fewer.
//      In company neither shares nor chunks are changed: whose fault it is that a path ends late,
//      its time does not say.
//   5. From then on one in kOwnPeriod is timed, and some go natively to be compared: soon, if the
//      measured times are worse than predicted, else seldom.
//   6. Whichever is faster by the medians of the last times is what the next ones do. The other one
//      is tried now and then: what was slower once need not remain so.
//
// Everything is counted in transfers, not in time, and by each kind for itself. Transfers that meet
// again and again, also of several processes, are therefore tried in the same rounds: natively all
// at once, and all at once by plan.

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/load_tracker.h"
#include "engine/stopwatch.h"
#include "plan/levelled.h"
#include "plan/lru_cache.h"
#include "plan/options.h"

namespace polypath {

/// Transfers from whose times one can tell what the next one of them will take.
struct TransferKind {
  /// What one of them meets: from where to where, and its size class.
  using Met = std::tuple<PlaceId, PlaceId, Bytes>;

  PlaceId source;
  PlaceId destination;
  Bytes size;  ///< class
  BothWays both_ways = BothWays::no;
  bool beside_processes = false;  ///< others go elsewhere meanwhile
  std::vector<Met> company = {};

  auto operator<=>(const TransferKind&) const = default;
};

TransferKind kind_of(const Asked& asked, const Contention& contention);

/// What is known of one kind.
struct Learnt {
  Split split;            ///< of transfers over several paths
  bool natively = false;  ///< one native copy is faster
  Seconds paths;          ///< median of the last transfers over several paths
  Seconds native;         ///< of the last native ones; zero if there were none
  int transfers = 0;      ///< so far
};

/// What is to become of one transfer.
struct Advice {
  bool natively = false;
  bool timed = false;
  bool path_by_path = false;  ///< and by streams, because a graph's paths cannot be timed
  int version = 0;            ///< of what is known: times of an older one say nothing any more
};

class Experience {
 public:
  explicit Experience(std::size_t kinds) : records_(kinds) {}

  /// How the next transfer of the kind is to be split; null: as its plan says.
  [[nodiscard]] const Split* split(const TransferKind& kind);
  /// About the next transfer of a kind, which is planned like that; counts it.
  Advice advise(const TransferKind& kind, const Plan& plan, bool may_be_timed);
  /// `level_shares` for the plan that was timed, of measured times and a damping.
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
  /// The last few times.
  class Samples {
   public:
    void add(Seconds time);
    void clear() { times_.clear(); }
    [[nodiscard]] bool enough() const;
    [[nodiscard]] bool empty() const { return times_.empty(); }
    [[nodiscard]] Seconds median() const;

   private:
    std::vector<Seconds> times_;
  };

  /// What the transfers of a kind are timed for.
  enum class Stage { as_planned, shares, levelled, more_chunks, fewer_chunks, settled };

  struct Record {
    Learnt known;
    Samples paths, native;
    std::vector<Samples> each;  ///< by path, while shares are levelled
    Learnt kept;                ///< when it was certain last; no transfers: never
    Stage stage = Stage::as_planned;
    Split best;
    Seconds best_took = Seconds::infinity();
    Split levelled;
    Seconds best_timed = Seconds::infinity();  ///< the same path by path, which takes longer
    double damping = 1;
    int rounds = 0;  ///< of the stage
    int version = 0;
    int since_timed = 0;
    int since_tried = 0;  ///< the slower one
  };

  [[nodiscard]] Record& record_of(const TransferKind& kind);
  [[nodiscard]] static bool is_doubtful(const Record& record, const Plan& plan);
  [[nodiscard]] static Advice advise(Record& record, const Plan& plan);
  static void choose(Record& record);
  void note_change(Record& record);
  static void add_each(Record& record, const Timing& timing);
  static void improve(Record& record, const Leveller& leveller);
  static void level(Record& record, const Leveller& leveller);
  [[nodiscard]] static bool is_best(Record& record);
  static void vary_chunks(Record& record);
  static void enter(Record& record, Stage stage);
  static void try_split(Record& record, const Split& split);

  LruCache<TransferKind, Record> records_;
  int changes_ = 0;
};

}  // namespace polypath
