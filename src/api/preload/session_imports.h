#pragma once
// Mappings of other processes' memory that a plan needs: made before anything
// is enqueued, because that takes milliseconds, and may fail.

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/preload/outcome.h"
#include "api/preload/program_ends.h"
#include "api/preload/session_streams.h"
#include "core/background.h"
#include "driver/cuda/cuda_driver.h"
#include "machine/machine.h"

namespace polypath::preload {

/// Thread-safe.
class SessionImports {
 public:
  /// `in_background`: a thread makes them, and else the call that needs them.
  SessionImports(const Machine& machine, cuda::CudaDriver& driver, SessionStreams& streams,
                 bool in_background);

  /// Why the copy is native for now; none if all mappings of its plan are
  /// there.
  [[nodiscard]] std::optional<Outcome> look_at(const ProgramQuestion& question);
  /// Waits for the one in progress and makes no more of them.
  void stop() noexcept;

 private:
  /// Imported memory, and the context that needs a mapping of its own.
  using Missing = std::vector<std::pair<Address, cuda::ContextPointer>>;

  [[nodiscard]] Missing missing_for(const ProgramQuestion& question);
  void add_missing(const ProgramEnd& end, Address address, HopId hop, Missing& missing);
  [[nodiscard]] Outcome map_in_background(const Missing& missing);

  const Machine& machine_;
  cuda::CudaDriver& driver_;
  SessionStreams& streams_;
  std::mutex mutex_;
  std::set<std::pair<Address, cuda::ContextPointer>> mapping_;  ///< in progress
  std::unique_ptr<Background> background_;  ///< that maps memory; null: the call that needs it does
};

}  // namespace polypath::preload
