#pragma once
// How many threads copy pageable memory, and those threads.

#include <memory>
#include <mutex>

#include "core/settings.h"
#include "engine/pageable/copy_threads.h"
#include "machine/driver_behaviour.h"

namespace polypath::engine {

/// As many threads as the settings say, or as reach all of a host's memory with the CPUs that the
/// caller may use. Thread-safe.
class FittingThreads {
 public:
  FittingThreads(const DriverBehaviour& behaviour, const Settings& settings)
      : most_(behaviour.windows_threads),
        least_cpus_(behaviour.windows_threads_least),
        chosen_(settings.copy_threads) {}

  /// True if the CPUs that the caller may use are enough to be faster than the driver's own copy.
  [[nodiscard]] bool pay() const;
  [[nodiscard]] bool are_there() const;
  /// Starts them, once.
  void start();
  /// Those that have been started, on the caller's CPUs. Not while they copy.
  [[nodiscard]] CopyThreads& of_caller();

 private:
  int most_;        ///< more reach no more of a host's memory
  int least_cpus_;  ///< fewer are slower than the driver's own copy
  int chosen_;      ///< by the settings; zero: as many as the caller may use
  mutable std::mutex mutex_;
  std::unique_ptr<CopyThreads> threads_;
};

}  // namespace polypath::engine
