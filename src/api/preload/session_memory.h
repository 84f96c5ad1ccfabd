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

  /// Finds the ends of a copy in a stream of `gpu`. Returns why it has to be native; none if its
  /// plan decides.
  [[nodiscard]] std::optional<Outcome> resolve(const ProgramCopy& asked, PlaceId gpu,
                                               ProgramEnds& ends);

 private:
  /// An end's bytes, and what a stream of `gpu` does with them.
  struct Question {
    Address address;
    Bytes bytes;
    PlaceId gpu;
    cuda::OpenedMemory::Use use;
  };

  [[nodiscard]] std::optional<Outcome> look_at(const Question& question, ProgramEnd& end);
  [[nodiscard]] std::optional<Outcome> look_at_pinned(const Question& question,
                                                      const cuda::MemoryAccess& access);
  [[nodiscard]] std::optional<Outcome> look_at_context(const cuda::MemoryAccess& access,
                                                       PlaceId gpu);
  [[nodiscard]] std::optional<Outcome> look_at_opened(const Question& question, ProgramEnd& end);

  const Settings& settings_;
  cuda::CudaDriver& driver_;
  const Engine& engine_;
  SessionStreams& streams_;
};

}  // namespace polypath::preload
