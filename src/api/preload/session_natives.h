#pragma once
// Copies that go to the driver without a decision, because those like them did.

#include <optional>

#include "api/preload/early_copies.h"
#include "api/preload/outcome.h"
#include "api/preload/program_ends.h"
#include "api/preload/recent_outcomes.h"
#include "api/preload/session_memory.h"
#include "api/preload/session_streams.h"
#include "api/preload/session_uses.h"
#include "context/open.h"
#include "driver/cuda/cuda_driver.h"
#include "engine/engine.h"

namespace polypath::preload {

/// Of a copy that is left to the program's own call.
Outcome outcome_of(FallbackReason obstacle);
/// After which there may be staging memory.
bool uses_staging(Outcome outcome);

/// Thread-safe.
class SessionNatives {
 public:
  SessionNatives(const OpenMachine& opened, cuda::CudaDriver& driver, Engine& engine,
                 SessionStreams& streams, SessionMemory& memory, SessionUses& uses,
                 std::optional<Executor> chosen)
      : opened_(opened),
        driver_(driver),
        engine_(engine),
        streams_(streams),
        memory_(memory),
        uses_(uses),
        executor_(chosen) {}

  /// True of a copy that the driver makes like those before it; then count().
  [[nodiscard]] bool goes_first(const ProgramCopy& asked);
  /// The copy has been made by the driver. The next one like it may find more.
  [[nodiscard]] Fate count(const ProgramCopy& asked);
  /// So many copies went as they were before there was this session.
  void count_early(const EarlyCopies& copies) noexcept;
  /// Something is being made for the copy: those like it go without it for a while.
  void remember_preparing(const ProgramCopy& asked, const ProgramEnds& ends);

  /// The outcomes that all this is known by.
  [[nodiscard]] RecentOutcomes& recent() { return recent_; }

 private:
  [[nodiscard]] Fate ask(const ProgramCopy& asked, PlaceId gpu, int unasked);

  const OpenMachine& opened_;
  cuda::CudaDriver& driver_;
  Engine& engine_;
  SessionStreams& streams_;
  SessionMemory& memory_;
  SessionUses& uses_;
  std::optional<Executor> executor_;
  RecentOutcomes recent_;
};

}  // namespace polypath::preload
