#pragma once
// The engine: copies between memories of one machine, by plan.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/background.h"
#include "core/brief_mutex.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/call/statistics.h"
#include "engine/decide/decision.h"
#include "engine/decide/graph_amortizer.h"
#include "engine/decide/plans.h"
#include "engine/decide/recent_natives.h"
#include "engine/decide/recent_parts.h"
#include "engine/decide/recent_sets.h"
#include "engine/execute/lanes.h"
#include "engine/execute/loaded_kernels.h"
#include "engine/execute/side_streams.h"
#include "engine/execute/stopwatch.h"
#include "engine/learn/experience.h"
#include "engine/learn/experience_keeper.h"
#include "engine/learn/way_times.h"
#include "engine/load/load_tracker.h"
#include "engine/pageable/pageable.h"

namespace polypath {

struct PieceSet;

/// A program that has allocated memory is taken to go on with it for so long. The tensors of a
/// state_dict come 1.2 ms apart on an H200; those that are read from a disk meanwhile, further.
inline constexpr Seconds kStillAllocates = 50'000_us;

/// Thread-safe: calls from several threads are enqueued one after another.
class Engine {
 public:
  /// The driver must outlive the engine. Nothing is created on it before the first copy needs it.
  /// Engines that share a `load` know of each other's transfers; without one it is the engine's
  /// own. The engine stores its experience in `keeper` and starts from the experience stored there.
  /// It stores the plans that it finds in `plan_keeper` and does not search for plans stored there.
  Engine(Driver& driver, const Machine& machine, const Settings& settings,
         std::shared_ptr<LoadTracker> load = nullptr,
         std::shared_ptr<ExperienceKeeper> keeper = nullptr,
         std::shared_ptr<PlanKeeper> plan_keeper = nullptr);
  /// Waits for the engine's own queued work.
  ~Engine();

  /// Enqueues a copy: it starts after what is in the stream and is complete before what comes next.
  /// Never blocks, except after a driver failure in the middle: then until what was queued is done;
  /// and with pageable or managed memory at one end, where the driver's own copy may block as well.
  /// Returns how it was done. If several paths fail but a native copy works, that is a success and
  /// counted in `fallbacks`.
  /// Errors: invalid_argument (null, unknown memory, a range beyond its allocation, overlapping
  /// ranges, unusable options) and unsupported (in a forked child), before anything is enqueued;
  /// driver, if not even a native copy could be enqueued, or part of a failed transfer is queued
  /// and cannot be waited for.
  CopyResult copy(const CopyCall& call);

  /// Enqueues several copies that start together, planned together where 2 to kMostJointTransfers
  /// of them can be (plan/joint/joint.h), or many small ones (plan/pieces/piece_planner.h), and
  /// nothing else is in flight; the others as `copy` does. Each is in order with its own stream.
  /// Those of one stream run beside each other if they go from or to different places and none
  /// writes what another one reads or writes, else in the order given: their bytes are what they
  /// would be one after another. Copies on different streams have no order. Where plans are made in
  /// the background the first calls go without a joint plan. Returns how each was done, in the
  /// order given; `enqueued`, if not null, receives how many were enqueued, also where there is an
  /// error. Errors: as `copy`. With a bad argument in any of them nothing is enqueued, unless it is
  /// memory that has been freed since it was last copied like that; of other errors the copies
  /// before the one that has it are enqueued and those after it are not, but for small ones that
  /// are planned together with one before it.
  std::vector<CopyResult> copy_many(std::span<const CopyCall> calls,
                                    std::size_t* enqueued = nullptr);

  /// The same for copies that the driver could make in one batch, of which it need not keep the
  /// order, if they go over several paths as many small ones do and that gains over the batch.
  /// False: nothing has been enqueued, and the caller makes the batch. Never by kernels.
  [[nodiscard]] bool take_batch(std::span<const CopyCall> calls);
  /// Whether that can be of so many copies like this one; the driver is asked nothing.
  [[nodiscard]] bool may_take_batch(const CopyCall& like, const CopyEnds& ends, std::size_t copies,
                                    Bytes bytes);

  /// Decides how the copy is done: all that `copy` finds out before it enqueues anything. The
  /// decision refers to the call. Errors as there, but for those of enqueuing.
  [[nodiscard]] Decision decide(const CopyCall& call);
  Decision decide(CopyCall&&) = delete;
  /// The same for a caller that has just learnt from the driver where both ends are, in full, and
  /// that the stream is not being captured: it is not asked again.
  [[nodiscard]] Decision decide(const CopyCall& call, const CopyEnds& ends);
  /// The decision for a copy like one that lately went natively, if nothing is in flight that could
  /// change that: the driver is asked nothing.
  [[nodiscard]] std::optional<Decision> recall(const CopyCall& call);
  /// Carries out the decision; the facts that it holds must still be true. `copy` decides, then
  /// does this.
  CopyResult enqueue(const Decision& decision);
  /// The same, but without ever making a native copy of the whole: the caller makes that, and is
  /// counted as having made it, where the result says that the executor is `native`.
  [[nodiscard]] CopyResult enqueue_or_leave(const Decision& decision);

  /// From here on no plan is staged at the place.
  void leave_out(PlaceId relay, LeftOutBecause why);
  /// The program allocates memory: preparations that would hold it up pause for a while.
  void note_allocation() noexcept;
  /// Gives back the staging memory that nothing uses any more, and streams and graphs with it;
  /// waits for transfers in flight, but no longer than `timeout`. True if there was any.
  bool give_back(Seconds timeout) noexcept;
  /// The same where memory is short: drops preparations under way, too.
  bool release_memory(Seconds timeout) noexcept;
  /// True also while a plan is being made that may get some.
  [[nodiscard]] bool has_staging() const;
  /// Waits for the preparation in progress and makes no more of them.
  void stop_preparing() noexcept;

  /// The plan that copy would use on an idle machine. Errors as Planner::plan.
  PlanPointer plan(PlaceId source, PlaceId destination, Bytes bytes,
                   const PlanOptions& options = {});
  /// The same, but null while it is made in the background, and then a copy would go without it.
  PlanPointer known_plan(PlaceId source, PlaceId destination, Bytes bytes,
                         const PlanOptions& options = {});

  /// Smaller copies are one native copy wherever they go.
  [[nodiscard]] Bytes smallest_planned() { return plans_.least_smallest(); }
  /// False if the calling thread may use too few CPUs to copy pageable memory through windows.
  [[nodiscard]] bool windows_pay() const { return pageable_.pays(); }
  [[nodiscard]] Statistics statistics() const;
  /// The experience that is certain.
  [[nodiscard]] LearntKinds learnt() const;
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Driver& driver() { return driver_; }
  [[nodiscard]] const Predictor& predictor() const { return plans_.predictor(); }

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

  /// Several copies on their way; see engine_many.h.
  struct Many;

  void check_process() const;
  [[nodiscard]] CopyEnds resolve_memory(const CopyCall& call);
  [[nodiscard]] CopyEnds resolve_memory(const CopyCall& call, SeenBefore& seen);
  static void refuse_overlap(const CopyCall& call);
  [[nodiscard]] Decision decide_locked(const CopyCall& call, const CopyEnds* known_ends);
  [[nodiscard]] bool recall_locked(Decision& decision);
  [[nodiscard]] bool is_brief(const Plan& plan) const;
  void query_contention(Decision& decision, PlaceId source, PlaceId destination,
                        LoadTracker::Depth depth = LoadTracker::Depth::full);
  [[nodiscard]] Bytes native_threshold(const CopyCall& call, const CopyEnds& ends);
  void choose_plan(Decision& decision);
  void plan_alone(Decision& decision);
  void plan_for_now(Decision& decision, PlanRequest request);
  void plan_beside_others(Decision& decision);
  [[nodiscard]] FallbackReason use_joint_plan(Decision& decision);
  [[nodiscard]] JointPlanPointer joint_plan_of(const RecurringSet& set, Executor executor);
  void plan_by_itself(Decision& decision);
  [[nodiscard]] bool yields_to_other_processes(const Decision& decision) const;
  [[nodiscard]] bool reads_peer(const CopyCall& call, const CopyEnds& ends) const;
  [[nodiscard]] LeftOutRelays left_out_for(const CopyCall& call, const CopyEnds& ends) const;
  [[nodiscard]] bool goes_by_host(const Plan& plan) const;
  void leave_hosts_out(Decision& decision);
  [[nodiscard]] static TransferKind kind_of(const Decision& decision);
  [[nodiscard]] bool may_learn(const CopyCall& call) const;
  void apply_experience(Decision& decision);
  void compare_exchange(Decision& decision);
  [[nodiscard]] PlanPointer take_split(const PlanPointer& plan, const Split& split);
  [[nodiscard]] bool go_natively(Decision& decision);
  void read_measurements(Seconds now);
  void keep_experience();
  void learn_from(const Measurement& measurement, const Timing& timing);
  void disturb_measurements(const Decision& decision);
  [[nodiscard]] bool goes_by_windows(const CopyCall& call, const CopyEnds& ends);
  void choose_windows(Decision& decision);
  [[nodiscard]] std::optional<Executor> choice_of(const PlanOptions& options) const;
  [[nodiscard]] PlanOptions complete(const PlanOptions& options) const;
  [[nodiscard]] PlanPointer plan_for(const PlanRequest& request);

  [[nodiscard]] SetMember examine(const CopyCall& call, SeenBefore& seen);
  [[nodiscard]] bool may_be_piece(const SetMember& member) const;
  void examine_all(Many& many);
  [[nodiscard]] bool is_joint(const SetMember& member);
  [[nodiscard]] bool recall_many(Many& many);
  void remember_many(const Many& many);
  void arrange_many(Many& many);
  [[nodiscard]] bool may_be_joint(Many& many);
  [[nodiscard]] JointPlanPointer joint_plan(Many& many);
  [[nodiscard]] JointPlanPointer joint_plan_for(const JointRequest& request);
  [[nodiscard]] bool lacks_room(const JointPlan& joint, const Many& many) const;
  [[nodiscard]] bool has_lanes(const JointPlan& joint) const;
  [[nodiscard]] Decision decide_of_many(const Many& many, std::size_t number, const CopyCall& call);
  void enqueue_many(Many& many, std::unique_lock<BriefMutex>& lock);
  [[nodiscard]] CopyResult enqueue_one_of_many(Many& many, std::size_t number,
                                               std::unique_lock<BriefMutex>& lock);

  // engine_pieces.cc
  [[nodiscard]] bool arrange_pieces(Many& many);
  [[nodiscard]] PieceRecipePointer recipe_for(const Many& many, const PieceSet& set);
  [[nodiscard]] PieceRecipePointer recipe_for(const PieceRequest& request);
  [[nodiscard]] CopyResult enqueue_piece(Many& many, std::size_t number);
  void enqueue_pieces(Many& many);
  [[nodiscard]] FallbackReason run_pieces(const Many& many);
  [[nodiscard]] FallbackReason run_kernels(Lane& lane, const Transfer& transfer);

  // engine_kernels.cc
  [[nodiscard]] bool kernels_may(const PieceRecipe& recipe, const PieceSet& set,
                                 std::span<const SetMember> members);
  [[nodiscard]] FallbackReason provide_kernels(const PlanPointer& plan);
  void load_kernels(const PlanPointer& plan, const std::vector<PlaceId>& gpus);
  void open_hops(const Plan& plan) noexcept;

  /// Whether the engine or the caller makes the native copy where no other way is left.
  enum class NativeCopyBy { engine, caller };
  CopyResult enqueue_locked(const Decision& decision, NativeCopyBy maker);
  CopyResult enqueue_unpinned(const Decision& decision, NativeCopyBy maker);
  void native_copy(const Decision& decision, NativeCopyBy maker);
  [[nodiscard]] CopyResult attempt(const Decision& decision);
  [[nodiscard]] CopyResult attempt_windows(const Decision& decision);
  CopyResult native_for_comparison(const Decision& decision);
  void note_pageable(const Decision& decision, ComparedWay way, Seconds took);
  PageableCopies::Sent send_window(PageableCopies::WindowCall sent);
  [[nodiscard]] bool has_windows(const Decision& decision);
  [[nodiscard]] bool make_windows(const CopyEnds& ends, WindowsMade wanted) noexcept;
  [[nodiscard]] std::optional<Decision> over_ready_relays(const Decision& decision);
  [[nodiscard]] Executor executor_for(const Decision& decision) const;
  [[nodiscard]] FallbackReason run(const Decision& decision, Executor& executor);
  [[nodiscard]] FallbackReason run_in(Lane& lane, const Transfer& transfer, Executor executor);
  [[nodiscard]] FallbackReason find_room(Lane& lane, const Decision& decision,
                                         Executor& executor) const;
  void note(const Decision& decision, const CopyResult& result);
  void note_load(const Decision& decision);
  void note_failure(const Decision& decision);
  void count_asked(const CopyCall& call);
  void count_done(const CopyResult& result);
  void count_staged(const Plan& plan);

  [[nodiscard]] FallbackReason provide(Lane& lane, const PlanPointer& plan, int copies = 1);
  [[nodiscard]] static bool is_ready(const Lane& lane, const Plan& plan);
  [[nodiscard]] FallbackReason provide_later(Lane& lane, const PlanPointer& plan, int copies);
  void prepare_once_planned(const CopyCall& call, const PlanRequest& request);
  void prepare_planned(const Unplanned& copies, const PlanRequest& request) noexcept;
  [[nodiscard]] PlanRequest limited_to(const PlaceSet& relays, PlanRequest request) const;
  [[nodiscard]] PlaceSet ready_relays(const Plan& plan, const Lane& lane) const;
  [[nodiscard]] bool is_worth_preparing(const Plan& plan, int copies, int put_off = 0);
  [[nodiscard]] Seconds price_of(const Plan& plan) const;
  [[nodiscard]] std::set<PlaceId> contexts_to_make(const Path& path);
  [[nodiscard]] int only_put_off(const Lane& lane, const Plan& plan);
  [[nodiscard]] PlaceSet used_by_others(const Path& path) noexcept;
  void prepare(Lane* lane, const PlanPointer& plan);
  void drop_preparations_not_begun() noexcept;
  [[nodiscard]] bool give_back_idle() noexcept;
  [[nodiscard]] bool any_gone_soon();
  [[nodiscard]] bool is_being_prepared(const Lane& lane) const;
  [[nodiscard]] bool make(const Lane& lane, const Path& path, HopParts& parts) noexcept;

  Driver& driver_;
  Machine machine_;
  Settings settings_;
  std::optional<Executor> executor_;  ///< of the settings
  int process_;                       ///< the process that made the engine
  int generation_;                    ///< of that process
  mutable BriefMutex mutex_;
  Plans plans_;
  Statistics statistics_;
  LoadedKernels kernels_;  ///< before the lanes, whose streams run them
  SideStreams side_streams_;
  Lanes lanes_;
  LeftOutRelays left_out_;
  std::shared_ptr<LoadTracker> load_;
  Experience experience_;
  TimingEvents timing_events_;
  std::vector<std::shared_ptr<Measurement>> measurements_;  ///< under way
  std::shared_ptr<ExperienceKeeper> keeper_;
  int kept_changes_ = 0;  ///< of the experience that the keeper has
  Seconds kept_at_{-1e9};
  RecentNatives recent_;
  RecentSets recent_sets_;
  RecentParts recent_parts_;
  GraphAmortizer graph_amortizer_;
  std::atomic<std::uint64_t> next_transfer_{1};
  ComparedTimes compared_;
  PageableCopies pageable_;  ///< without the lock; its windows come back through send_window
  std::map<std::pair<Lane*, PlanPointer>, Preparation> preparing_;  ///< asked for or begun
  PlaceSet put_off_;                    ///< GPUs whose contexts are, because of other processes
  std::map<Unplanned, int> unplanned_;  ///< how many copies, until there is a plan
  std::atomic<int> shortages_{0};       ///< how often room had to be made
  std::atomic<double> last_allocation_{-1e9};  ///< of the program, by the driver's clock
  Seconds missed_;  ///< what copies would have gained since the last preparation began
  Seconds copied_;  ///< what they took instead
  Seconds missed_by_windows_;
  std::atomic<bool> preparing_windows_{false};
  std::unique_ptr<Background> background_;  ///< makes plans; null: all is made in the call
  std::unique_ptr<Background> maker_;       ///< makes contexts, streams and memory beside that
};

}  // namespace polypath
