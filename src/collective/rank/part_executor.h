#pragma once
// Enqueues a rank's parts of programs, as operations on streams or as graphs, with the kernels that
// they use. Internal to src/collective.

#include <span>
#include <vector>

#include "collective/program/collective_kernels.h"
#include "core/settings.h"
#include "engine/call/statistics.h"
#include "engine/execute/events.h"
#include "engine/execute/graph_executor.h"
#include "engine/execute/hops.h"
#include "engine/execute/stream_executor.h"
#include "model/transfer.h"

namespace polypath::collective {

/// Not thread-safe.
class PartExecutor {
 public:
  /// The driver and the machine outlive it.
  PartExecutor(Driver& driver, const Machine& machine, const Settings& settings);

  /// Loads the kernels of a program, or all of a GPU that exchange messages.
  void prepare_kernels(const Program& program) { kernels_.prepare(program); }
  void prepare_mail(PlaceId gpu) { kernels_.prepare_mail(gpu); }
  [[nodiscard]] std::span<const KernelHandle> kernels() const { return kernels_.handles(); }

  /// How a part runs for which `wanted` was chosen: a single kernel as a graph, too, if there is
  /// room for one.
  [[nodiscard]] Executor executor_of(const Transfer& transfer, Executor wanted);
  /// Makes what run() needs, so that it only enqueues. Errors leave nothing behind.
  void prepare(const Transfer& transfer, Executor by);
  /// After an error some of it may be enqueued: mark_ends(), end it, settle().
  void run(const Transfer& transfer, Executor by);
  /// Events behind all that is queued in the streams that a part uses.
  [[nodiscard]] std::vector<EventHandle> mark_ends(const Transfer& transfer);
  /// False if some of it cannot be waited for (Hops::settle).
  [[nodiscard]] bool settle(const Transfer& transfer) noexcept { return hops_.settle(transfer); }

 private:
  Driver& driver_;
  Hops hops_;
  Statistics statistics_;
  CollectiveKernels kernels_;
  StreamExecutor streams_;
  GraphExecutor graphs_;
  EventSet in_callers_;  ///< of the callers' streams, by GPU
};

}  // namespace polypath::collective
