#pragma once
// Carries decisions out, but for copies of pageable memory. Enqueuing decides nothing.

#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/decide/decision.h"
#include "engine/decide/path_decider.h"
#include "engine/enqueue/copy_records.h"
#include "engine/enqueue/lane_runner.h"
#include "engine/execute/transfer.h"
#include "machine/machine.h"

namespace polypath::engine {

/// Whether the engine or the caller makes the native copy where no other way is left.
enum class NativeCopyBy { engine, caller };

/// Not thread-safe but for copy_natively(); the engine guards it.
class Enqueuer {
 public:
  Enqueuer(Driver& driver, const Machine& machine, TransferIds& ids, PathDecider& paths,
           LaneRunner& runner, CopyRecords& records);

  /// Of a copy that does not block. Returns how it was done, which is recorded.
  CopyResult enqueue(const Decision& decision, NativeCopyBy maker);
  /// By plan; native, if that is the plan or something is in the way: then nothing is queued.
  [[nodiscard]] CopyResult attempt(const Decision& decision);
  /// One native copy, unless the caller makes it and it is not timed.
  void copy_natively(const Decision& decision, NativeCopyBy maker);

 private:
  Driver& driver_;
  const Machine& machine_;
  TransferIds& ids_;
  PathDecider& paths_;
  LaneRunner& runner_;
  CopyRecords& records_;
};

}  // namespace polypath::engine
