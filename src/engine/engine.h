#pragma once
// The engine: copies between memories of one machine, by plan. It is the one way to the classes of
// this layer (engine_parts.h), guards them by its lock, and does nothing else itself.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/settings.h"
#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/call/statistics.h"
#include "engine/decide/decision.h"
#include "engine/learn/experience_keeper.h"
#include "engine/load/load_tracker.h"
#include "machine/machine.h"
#include "plan/joint/found_plans.h"
#include "plan/options.h"
#include "plan/plan.h"

namespace polypath::engine {

struct EngineParts;

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
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

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
  /// the background the first calls go without a joint plan. Copies that have no order, or run
  /// beside each other, are issued in the order of their plan. Returns how each was done, in the
  /// order given; `enqueued`, if not null, receives how many were enqueued of those from the first
  /// one on, also where there is an error. Errors: as `copy`. With a bad argument in any of them
  /// nothing is enqueued, unless it is memory that has been freed since it was last copied like
  /// that; of other errors the copies issued before the one that has it are enqueued and those
  /// issued after it are not, but for small ones that are planned together with one before it.
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
  /// Copies like this one have gone natively, 1 + `unasked` of the call, without a decision: they
  /// count for what is prepared in the background. The obstacle says whether that goes on.
  CopyResult count_native(const CopyCall& call, const CopyEnds& ends);
  /// Carries out the decision; the facts that it holds must still be true. `copy` decides, then
  /// does this.
  CopyResult enqueue(const Decision& decision);
  /// The same, but without ever making a native copy of the whole: the caller makes that, and is
  /// counted as having made it, where the result says that the executor is `native`.
  [[nodiscard]] CopyResult enqueue_or_leave(const Decision& decision);

  /// Waits for the work in the stream, whose transfers are known to be over then. Error (driver) if
  /// some of it has failed.
  void synchronize(StreamHandle stream);
  /// For a caller that finds out by itself that streams are idle: LoadTracker::note_idle.
  [[nodiscard]] LoadTracker& load() noexcept;

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
  [[nodiscard]] Bytes smallest_planned();
  /// False if the calling thread may use too few CPUs to copy pageable memory through windows.
  [[nodiscard]] bool windows_pay() const;
  [[nodiscard]] Statistics statistics() const;

 private:
  void check_process() const;

  int process_;     ///< the process that made the engine
  int generation_;  ///< of that process
  std::unique_ptr<EngineParts> parts_;
};

}  // namespace polypath::engine
