#pragma once
// The objects that plan and make copies: the machine, its driver and an engine on it.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "api/preload/queued_memory.h"
#include "api/preload/recent_outcomes.h"
#include "api/preload/stream_watch.h"
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

/// One per process, made at the first copy that may be worth it, and never destroyed: at exit CUDA
/// may be gone before us. Thread-safe.
class Session {
 public:
  /// Error (unsupported, invalid_machine, invalid_setting, ...) if copies cannot be planned here.
  explicit Session(const Settings& settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Makes the copy over several paths, as the program's call would have made it (same place in the
  /// stream, and blocking if that is), if that pays. Any other outcome than the accelerated ones:
  /// nothing has been enqueued, and the program's own call is to be made. Errors as Engine::copy.
  Fate copy(const ProgramCopy& asked);

  /// The same for a batch, all of it or nothing.
  Fate copy(const ProgramBatch& asked);

  /// A native copy that the program's own call is about to make is timed, for the trace: `end` it
  /// after that. Nothing where events would be in the way.
  [[nodiscard]] std::optional<TracedCopy> begin_traced(const ProgramCopy& asked,
                                                       trace::Recorder& recorder) noexcept;

  /// The program allocates memory of a GPU.
  void note_allocation() noexcept { engine_.note_allocation(); }
  [[nodiscard]] Bytes smallest_planned() { return engine_.smallest_planned(); }
  /// Gives back staging memory, for an allocation of the program that found no room. True if there
  /// was any. Waits for copies in flight for a moment at most.
  bool release_memory() noexcept;
  /// The program is about to free or unpin the memory that contains `address`. Waits for copies of
  /// ours that may still use it, as the driver's call waits for its own.
  void wait_for_copies_of(Address address) noexcept;
  /// Waits for the preparation in progress and makes no more of them.
  void stop_preparing() noexcept;

 private:
  /// A piece of memory that a copy begins or ends in.
  struct End {
    MemoryInfo memory;
    bool imported = false;  ///< from another process
    [[nodiscard]] bool is_device() const { return memory.kind == MemoryKind::device; }
  };
  struct Ends {
    End destination, source;
    [[nodiscard]] bool pageable() const;
    [[nodiscard]] CopyEnds for_engine() const;
    [[nodiscard]] bool imported() const { return destination.imported || source.imported; }
    /// The driver's blocking calls do not wait for such copies.
    [[nodiscard]] bool between_gpus() const {
      return destination.is_device() && source.is_device();
    }
  };
  /// A copy of the program on its way through the questions.
  struct Question {
    const ProgramCopy& asked;
    PlaceId gpu;  ///< of the stream
    Ends ends;
    Decision decision;
  };

  void remember_preparing(const ProgramCopy& asked, const Ends& ends);
  [[nodiscard]] bool is_left_again(const ProgramCopy& asked,
                                   const RecentOutcomes::EngineCall& recent);
  void remember(const ProgramCopy& asked, const Decision& decision);
  [[nodiscard]] Fate find_out(const ProgramCopy& asked, int found);
  [[nodiscard]] Fate decide(const ProgramCopy& asked, int unasked);
  [[nodiscard]] bool go_one_way(const ProgramBatch& asked, std::vector<Ends>& all);
  [[nodiscard]] bool take(const ProgramBatch& asked, const CopyCall& first,
                          const std::vector<Ends>& all);
  [[nodiscard]] CopyCall call_of(const ProgramCopy& asked, StreamHandle stream, PlaceId gpu);
  [[nodiscard]] PlanOptions options_for(const Ends& ends) const;
  [[nodiscard]] Fate carry_out(Question& question);
  [[nodiscard]] Fate leave(Question& question);
  void wait_if_blocking(const Question& question);
  void note_queued(const CopyCall& call, const std::vector<Ends>& all);
  void note_use();
  void give_back_when_idle() noexcept;
  [[nodiscard]] static StreamWatch::Order order_of(cuda::StreamPointer stream);
  [[nodiscard]] std::optional<PlaceId> place_of(cuda::StreamPointer stream);
  [[nodiscard]] StreamHandle handle_of(cuda::StreamPointer stream, PlaceId gpu);
  void leave_out_exclusive_gpus();
  [[nodiscard]] bool may_begin(const Question& question);
  enum class Polling { no, yes };
  [[nodiscard]] bool waits_for_nobody(const Question& question, Polling polling);
  [[nodiscard]] bool becomes_idle(const Question& question, StreamWatch::Order order);
  [[nodiscard]] bool is_idle(const Question& question, StreamWatch::Order order);
  [[nodiscard]] bool is_finished(PlaceId gpu, cuda::StreamPointer stream);
  [[nodiscard]] std::optional<Outcome> look_at(Address address, Bytes bytes, End& end);
  [[nodiscard]] std::optional<Outcome> look_at_access(const cuda::MemoryAccess& access,
                                                      PlaceId gpu);
  [[nodiscard]] std::optional<Outcome> resolve_memory(const ProgramCopy& asked, Ends& ends);
  /// Imported memory, and the context that needs a mapping of its own.
  using Missing = std::vector<std::pair<Address, cuda::ContextPointer>>;
  [[nodiscard]] Outcome map_in_background(const Missing& missing);
  [[nodiscard]] std::optional<Outcome> look_at_imports(const Question& question);
  [[nodiscard]] Fate enqueue(const Question& question);
  [[nodiscard]] Fate enqueue_in_order(const Question& question);
  [[nodiscard]] bool may_order_with(const End& end);
  void order(const CopyCall& call, const std::vector<PlaceId>& others, bool before);
  [[nodiscard]] int number_of(PlaceId gpu) const;
  [[nodiscard]] cuda::ContextPointer context_of(PlaceId gpu);

  Settings settings_;
  OpenMachine opened_;
  cuda::CudaDriver& driver_;
  std::vector<PlaceId> gpus_;  ///< by number
  Engine engine_;
  std::mutex ordering_;
  EventSet ordered_;
  QueuedMemory queued_;
  std::optional<Executor> executor_;
  RecentOutcomes recent_;
  std::mutex mapping_mutex_;
  std::set<std::pair<Address, cuda::ContextPointer>> mapping_;  ///< in progress
  std::unique_ptr<Background> background_;  ///< that maps memory; null: the call that needs it does
  std::atomic<double> last_use_{0};         ///< of staging memory, by the driver's clock
  std::atomic<bool> watched_{false};        ///< a thread waits until that is long ago
  Background watcher_;
};

}  // namespace polypath::preload
