#pragma once
// When staging memory is given back: some time after its last use, or when the
// program finds no room.

#include <atomic>
#include <vector>

#include "api/preload/program_ends.h"
#include "api/preload/queued_memory.h"
#include "core/background.h"
#include "core/settings.h"
#include "driver/cuda/cuda_driver.h"
#include "engine/engine.h"

namespace polypath::preload {

/// Thread-safe.
class SessionUses {
 public:
  SessionUses(const Settings& settings, cuda::CudaDriver& driver, Engine& engine);

  /// The copy has been made, or several with one stream: these use their memory.
  void note_queued(const CopyCall& call, const std::vector<ProgramEnds>& all);
  /// As Session::wait_for_copies_of.
  void wait_for(Address address) noexcept;
  /// There may be staging memory from now on, and it is in use.
  void note_staging();
  /// As Session::release_memory.
  bool release() noexcept;
  /// Gives no staging memory back any more.
  void stop() noexcept { watcher_.stop(); }

 private:
  void give_back_when_idle() noexcept;

  const Settings& settings_;
  cuda::CudaDriver& driver_;
  Engine& engine_;
  QueuedMemory queued_;
  std::atomic<double> last_use_{0};   ///< of staging memory, by the driver's clock
  std::atomic<bool> watched_{false};  ///< a thread waits until that is long ago
  Background watcher_;
};

}  // namespace polypath::preload
