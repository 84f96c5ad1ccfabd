#pragma once
// What a copy is between, and whether that may use several paths at all.

#include <optional>

#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "api/preload/program_ends.h"
#include "api/preload/session_streams.h"
#include "core/settings.h"
#include "driver/cuda/cuda_driver.h"
#include "engine/engine.h"

namespace polypath::preload {

/// Thread-safe.
class SessionMemory {
 public:
  SessionMemory(const Settings& settings, cuda::CudaDriver& driver, const Engine& engine,
                SessionStreams& streams)
      : settings_(settings), driver_(driver), engine_(engine), streams_(streams) {}

  /// Finds the copy's ends. Returns why it has to be native; none if its plan
  /// decides.
  [[nodiscard]] std::optional<Outcome> resolve(const ProgramCopy& asked, ProgramEnds& ends);

 private:
  [[nodiscard]] std::optional<Outcome> look_at(Address address, Bytes bytes, ProgramEnd& end);
  [[nodiscard]] std::optional<Outcome> look_at_access(const cuda::MemoryAccess& access,
                                                      PlaceId gpu);

  const Settings& settings_;
  cuda::CudaDriver& driver_;
  const Engine& engine_;
  SessionStreams& streams_;
};

}  // namespace polypath::preload
