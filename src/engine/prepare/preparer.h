#pragma once
// Makes the streams, rings and peer access that the hops of a plan need, in the call or in the
// background, and gives them back.

#include <atomic>
#include <map>
#include <set>
#include <utility>

#include "core/background.h"
#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/execute/lanes.h"
#include "engine/planning/plan_finder.h"
#include "engine/prepare/preparation_budget.h"
#include "machine/machine.h"

namespace polypath::engine {

/// The threads that work beside the program; null: all is done in the call.
struct BackgroundThreads {
  Background* planning = nullptr;  ///< makes plans
  Background* making = nullptr;    ///< makes contexts, streams and memory beside that
};

/// Not thread-safe but where that is said; the engine guards it by `mutex`, which background work
/// takes, too.
class Preparer {
 public:
  Preparer(Driver& driver, const Machine& machine, BriefMutex& mutex, Lanes& lanes,
           PlanFinder& plans, PreparationBudget& budget, BackgroundThreads threads);

  /// None: all that the plan needs in the lane is there; so many copies would have been made by it.
  [[nodiscard]] FallbackReason provide(Lane& lane, const PlanPointer& plan, int copies = 1);
  /// The copy goes without a plan, which is being made. A program that issues many copies at once
  /// issues the next ones when these are done. So streams and memory are made as soon as there is a
  /// plan: else the next copies would only ask for them.
  void prepare_once_planned(const CopyCall& call, const PlanRequest& request);
  /// Such copies went natively without a decision. None: it need not be so of the next one.
  [[nodiscard]] CopyResult count_native(const CopyCall& call, const PlanRequest& request);
  /// The relays of the plan whose part of the stream's lane is there; none without a lane.
  [[nodiscard]] PlaceSet ready_relays(const Plan& plan, StreamHandle stream);

  /// Thread-safe, as all below: gives back the staging memory that nothing uses any more, and
  /// streams and graphs with it; waits for transfers in flight, but no longer than `timeout`. True
  /// if there was any.
  bool give_back(Seconds timeout) noexcept;
  /// The same where memory is short: drops preparations under way, too.
  bool release_memory(Seconds timeout) noexcept;
  /// True also while a plan is being made that may get some.
  [[nodiscard]] bool has_staging() const;

 private:
  /// A preparation in the background for a lane and a plan.
  struct Preparation {
    int shortages = 0;   ///< how many there had been when it was asked for
    bool begun = false;  ///< from then on the lane has to stay
    bool all = false;    ///< also contexts that are put off because of other processes
  };

  /// Copies of a stream for which there is no plan yet.
  struct Unplanned {
    StreamHandle stream;
    PlaceId source;
    PlaceId destination;
    Bytes bytes;
    auto operator<=>(const Unplanned&) const = default;
  };

  [[nodiscard]] static bool is_ready(const Lane& lane, const Plan& plan);
  [[nodiscard]] PlaceSet ready_relays(const Plan& plan, const Lane& lane) const;
  [[nodiscard]] FallbackReason provide_later(Lane& lane, const PlanPointer& plan, int copies);
  void prepare_planned(const Unplanned& copies, const PlanRequest& request) noexcept;
  [[nodiscard]] std::set<PlaceId> contexts_to_make(const Path& path);
  [[nodiscard]] int only_put_off(const Lane& lane, const Plan& plan);
  [[nodiscard]] PlaceSet used_by_others(const Path& path) noexcept;
  void prepare(Lane* lane, const PlanPointer& plan);
  [[nodiscard]] bool make(const Lane& lane, const Path& path, HopParts& parts) noexcept;
  void install(Lane& lane, const Plan& plan, HopParts parts);
  void drop_preparations_not_begun() noexcept;
  [[nodiscard]] bool give_back_idle() noexcept;
  [[nodiscard]] bool any_gone_soon();
  [[nodiscard]] bool is_being_prepared(const Lane& lane) const;

  Driver& driver_;
  const Machine& machine_;
  BriefMutex& mutex_;
  Lanes& lanes_;
  PlanFinder& plans_;
  PreparationBudget& budget_;
  BackgroundThreads threads_;
  std::map<std::pair<Lane*, PlanPointer>, Preparation> preparing_;  ///< asked for or begun
  PlaceSet put_off_;                    ///< GPUs whose contexts are, because of other processes
  std::map<Unplanned, int> unplanned_;  ///< how many copies, until there is a plan
  std::atomic<int> shortages_{0};       ///< how often room had to be made
};

}  // namespace polypath::engine
