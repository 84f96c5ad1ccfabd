#pragma once
// What copies are planned and made with: the machine, its driver and an engine on it.

#include <mutex>
#include <optional>
#include <vector>

#include "driver/cuda/cuda_driver.h"
#include "engine/engine.h"
#include "preload/lately_native.h"
#include "preload/outcome.h"
#include "preload/program_copy.h"
#include "probe/choose.h"

namespace polypath::preload {

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
  Outcome copy(const ProgramCopy& asked);

 private:
  struct Ends {
    MemoryInfo destination, source;
    [[nodiscard]] bool pageable() const;
  };

  [[nodiscard]] Outcome decide(const ProgramCopy& asked);
  [[nodiscard]] bool imports(const CopyCall& call) const;
  [[nodiscard]] std::optional<int> gpu_of(cuda::StreamPointer stream);
  [[nodiscard]] std::optional<Outcome> look_at(Address address, MemoryInfo& memory);
  [[nodiscard]] std::optional<Outcome> look_at_access(const cuda::MemoryAccess& access,
                                                      PlaceId gpu);
  [[nodiscard]] std::optional<Outcome> look_at_ends(const ProgramCopy& asked, Ends& ends);
  [[nodiscard]] std::optional<Outcome> look_at_plan(CopyCall& call, const Ends& ends);
  void map_imports(const CopyCall& call, const Plan& plan);
  [[nodiscard]] Outcome enqueue(const CopyCall& call, const Ends& ends);
  [[nodiscard]] Outcome enqueue_in_order(const CopyCall& call, const Ends& ends);
  [[nodiscard]] bool may_order_with(const MemoryInfo& end);
  void order(const CopyCall& call, const std::vector<PlaceId>& others, bool before);
  [[nodiscard]] cuda::ContextPointer context_of(PlaceId gpu);

  Settings settings_;
  ChosenMachine chosen_;
  cuda::CudaDriver& driver_;
  std::vector<PlaceId> gpus_;  ///< by number
  Engine engine_;
  std::mutex ordering_;
  EventSet ordered_;
  LatelyNative lately_native_;  ///< by plan
  LatelyNative lately_inside_;  ///< because both ends are in one memory
};

}  // namespace polypath::preload
