#pragma once
// The objects that plan and make copies: the machine, its driver and an engine
// on it.

#include <optional>
#include <vector>

#include "api/preload/idle_streams.h"
#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "api/preload/program_ends.h"
#include "api/preload/session_batch.h"
#include "api/preload/session_imports.h"
#include "api/preload/session_memory.h"
#include "api/preload/session_natives.h"
#include "api/preload/session_order.h"
#include "api/preload/session_streams.h"
#include "api/preload/session_uses.h"
#include "context/open.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/trace/recorder.h"
#include "engine/engine.h"

namespace polypath::preload {

/// A native copy of the program's under the eyes of the trace.
struct TracedCopy {
  std::optional<trace::Begun> begun;
  trace::Work work;
};

/// One per process, made at the first copy that may be worth it, and never
/// destroyed: at exit CUDA may be gone before us. Thread-safe.
class Session {
 public:
  /// Error (unsupported, invalid_machine, invalid_setting, ...) if copies
  /// cannot be planned here.
  explicit Session(const Settings& settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Makes the copy over several paths, as the program's call would have made
  /// it (same place in the stream, and blocking if that is), if that pays. Any
  /// other outcome than the accelerated ones: nothing has been enqueued, and
  /// the program's own call is to be made. Errors as Engine::copy.
  Fate copy(const ProgramCopy& asked);

  /// The same for a batch, all of it or nothing.
  Fate copy(const ProgramBatch& asked);

  /// A native copy that the program's own call is about to make is timed, for
  /// the trace: `end` it after that. Nothing where events would be in the way.
  [[nodiscard]] std::optional<TracedCopy> begin_traced(const ProgramCopy& asked,
                                                       trace::Recorder& recorder) noexcept;

  /// The program allocates memory of a GPU.
  void note_allocation() noexcept { engine_.note_allocation(); }
  [[nodiscard]] Bytes smallest_planned() { return engine_.smallest_planned(); }
  /// Gives back staging memory, for an allocation of the program that found no
  /// room. True if there was any. Waits for copies in flight for a moment at
  /// most.
  bool release_memory() noexcept { return uses_.release(); }
  /// The program is about to free or unpin the memory that contains `address`.
  /// Waits for copies of ours that may still use it, as the driver's call waits
  /// for its own.
  void wait_for_copies_of(Address address) noexcept;
  /// LoadTracker::newest().
  [[nodiscard]] TransferNumber newest_transfer() noexcept { return engine_.load().newest(); }
  [[nodiscard]] IdleStreams idle_streams() noexcept { return {engine_.load(), driver_}; }
  /// Waits for the preparation in progress and makes no more of them.
  void stop_preparing() noexcept;

  /// Copies that the driver makes without a decision.
  [[nodiscard]] SessionNatives& natives() { return natives_; }

 private:
  [[nodiscard]] Fate find_out(const ProgramCopy& asked, int found);
  [[nodiscard]] Fate decide(const ProgramCopy& asked, int unasked);
  [[nodiscard]] bool is_left_again(const ProgramCopy& asked,
                                   const RecentOutcomes::EngineCall& recent);
  void remember(const ProgramCopy& asked, const Decision& decision);
  [[nodiscard]] Fate carry_out(ProgramQuestion& question);
  [[nodiscard]] Fate leave(ProgramQuestion& question);
  [[nodiscard]] bool may_begin(const ProgramQuestion& question);
  [[nodiscard]] Fate enqueue(const ProgramQuestion& question);
  void wait_if_blocking(const ProgramQuestion& question);
  void leave_out_exclusive_gpus();

  Settings settings_;
  OpenMachine opened_;
  cuda::CudaDriver& driver_;
  Engine engine_;
  SessionStreams streams_;
  SessionMemory memory_;
  SessionImports imports_;
  SessionUses uses_;
  SessionBatches batches_;
  SessionOrder order_;
  std::optional<Executor> executor_;
  SessionNatives natives_;
};

}  // namespace polypath::preload
