#pragma once
// What the transfers of each way have met lately: others of this process, and of other processes.
//
// Transfers of one way that are in flight one after another or beside each other are an episode.
// What a way has not met for a few of its episodes is forgotten.

#include <cstdint>
#include <map>
#include <optional>

#include "engine/load/recurring_set.h"
#include "engine/load/running_transfers.h"

namespace polypath::engine {

inline constexpr int kForgotten = 1 << 20;

/// The last transfer of one way that met one of another.
struct Overlap {
  PlanPointer plan;
  int episode = 0;                   ///< of the other way
  int queued_episode = -kForgotten;  ///< the last one in which it was queued behind its like
  bool by_threads = false;           ///< issued at the same time, at least once
  bool came_first = false;           ///< was issued before the transfer of this way
};

/// The last transfer of another process that met one of this way.
struct ForeignOverlap {
  Bytes bytes = {};
  int episode = -kForgotten;         ///< of this way
  int varied_episode = -kForgotten;  ///< the last one in which its size was another one
  std::uint64_t set_name = 0;        ///< what its process takes to recur with it
};

using ForeignOverlaps = std::map<Way, ForeignOverlap>;

struct TransferHistory {
  int episodes = 0;
  Bytes bytes = {};                  ///< of the last one
  int varied_episode = -kForgotten;  ///< the last one in which the size was another one
  std::map<Way, Overlap> met;
  RecurringSet known_set = {};   ///< what recurs with it
  std::uint64_t known_when = 0;  ///< as long as `changes` is that
  // With other processes.
  Seconds start = {};                 ///< of the last episode
  LedgerEntry entry = {};             ///< as published last
  int strange_episode = -kForgotten;  ///< the last one that met what it cannot tell apart
  ForeignOverlaps foreign = {};
};

class TransferHistories {
 public:
  explicit TransferHistories(const RunningTransfers& running) : running_(running) {}

  /// Where nothing of a way is in flight its next episode begins. Before the transfer runs.
  void begin_episode(const Way& way, Seconds now);
  void note_size(const Plan& plan);
  /// Notes which transfers are in flight beside the stream's.
  void meet(StreamHandle stream, const RunningTransfer& transfer, Seconds now);
  /// The same of a transfer of another process, of which a ledger tells the rest.
  void meet_process(const Way& own, const Way& other, int episode, const LedgerEntry& entry);

  /// How often what recurs may have changed: by more than another round like those before.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  void note_change() { ++changes_; }

  [[nodiscard]] TransferHistory& of(const Way& way) { return by_way_[way]; }
  [[nodiscard]] const TransferHistory& at(const Way& way) const { return by_way_.at(way); }
  /// Null for a way that has had no transfer.
  [[nodiscard]] const TransferHistory* find(const Way& way) const;
  /// The next episode of this way, or the one that goes on.
  [[nodiscard]] int episode_of(const Way& way, Seconds now) const;
  /// True if what happened in the episode `then` of a way still counts in its `episode`.
  [[nodiscard]] static bool remembers(int then, int episode) {
    return episode - then <= kRemembered;
  }
  /// What `way` last met of `other`; null if that has stayed away.
  [[nodiscard]] const Overlap* lately_met(const Way& way, const Way& other, Seconds now) const;
  /// The same of other processes; nothing where not all of them can be told apart, or one varied.
  [[nodiscard]] std::optional<ForeignOverlaps> lately_met_others(const Way& way, Seconds now) const;
  [[nodiscard]] bool has_met_processes(const Way& way) const;
  /// True of a way whose transfers have all been as large lately.
  [[nodiscard]] bool recurs(const Way& way, Seconds now) const;
  /// True if the way may not have met one of the others lately when it is asked next.
  [[nodiscard]] bool may_forget(const Way& way, const RecurringSet& set) const;

 private:
  static constexpr int kRemembered = 3;  ///< episodes without an overlap until it is forgotten

  enum class Came { first, second };
  [[nodiscard]] static bool note(const RunningTransfer& transfer, Came came, int episode,
                                 bool by_threads, Overlap& overlap);

  const RunningTransfers& running_;
  std::map<Way, TransferHistory> by_way_;
  std::uint64_t changes_ = 1;
};

}  // namespace polypath::engine
