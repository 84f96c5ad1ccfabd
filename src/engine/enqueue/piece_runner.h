#pragma once
// Runs many small copies of a set as one stream of bytes, by copies or by kernels.

#include "engine/decide/set_decision.h"
#include "engine/enqueue/copy_records.h"
#include "engine/enqueue/enqueuer.h"
#include "engine/enqueue/lane_runner.h"
#include "engine/execute/lanes.h"
#include "engine/execute/loaded_kernels.h"
#include "engine/execute/transfer.h"
#include "engine/load/load_tracker.h"
#include "engine/prepare/kernel_preparer.h"
#include "engine/prepare/preparer.h"

namespace polypath::engine {

/// Not thread-safe; the engine guards it.
class PieceRunner {
 public:
  PieceRunner(const Machine& machine, Lanes& lanes, LoadedKernels& kernels, TransferIds& ids,
              Preparer& preparer, KernelPreparer& kernel_preparer, LaneRunner& runner,
              Enqueuer& enqueuer, LoadTracker& load, CopyRecords& records);

  /// One of the copies of the present group: all of them in the place of the first; where that does
  /// not work, each by itself in its own.
  [[nodiscard]] CopyResult enqueue(SetDecision& many, std::size_t number);
  /// The copies of the present group. False: none of them has been enqueued.
  [[nodiscard]] bool enqueue_group(SetDecision& many);

 private:
  [[nodiscard]] FallbackReason run(const SetDecision& many);
  [[nodiscard]] FallbackReason run_kernels(Lane& lane, const Transfer& transfer);

  const Machine& machine_;
  Lanes& lanes_;
  LoadedKernels& kernels_;
  TransferIds& ids_;
  Preparer& preparer_;
  KernelPreparer& kernel_preparer_;
  LaneRunner& runner_;
  Enqueuer& enqueuer_;
  LoadTracker& load_;
  CopyRecords& records_;
};

}  // namespace polypath::engine
