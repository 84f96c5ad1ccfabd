#pragma once
// Batches of copies. A native batch costs less than its copies one by one, so
// several paths have to beat the batch. Looking at all of its copies takes
// long, and comes last.

#include <vector>

#include "api/preload/outcome.h"
#include "api/preload/program_copy.h"
#include "api/preload/program_ends.h"
#include "api/preload/session_memory.h"
#include "api/preload/session_streams.h"
#include "driver/cuda/cuda_driver.h"
#include "engine/engine.h"

namespace polypath::preload {

/// Thread-safe.
class SessionBatches {
 public:
  SessionBatches(cuda::CudaDriver& driver, Engine& engine, SessionStreams& streams,
                 SessionMemory& memory)
      : driver_(driver), engine_(engine), streams_(streams), memory_(memory) {}

  /// A batch that was taken: the first copy, and the memory of all.
  struct Taken {
    CopyCall first;
    std::vector<ProgramEnds> all;
  };
  /// Takes all of it, or nothing: then `taken` stays as it is.
  [[nodiscard]] Outcome copy(const ProgramBatch& asked, Taken& taken);

 private:
  [[nodiscard]] bool go_one_way(const ProgramBatch& asked, PlaceId gpu,
                                std::vector<ProgramEnds>& all);
  [[nodiscard]] bool take(const ProgramBatch& asked, const CopyCall& first);

  cuda::CudaDriver& driver_;
  Engine& engine_;
  SessionStreams& streams_;
  SessionMemory& memory_;
};

/// The copy as the engine is asked for it.
CopyCall call_of(const ProgramCopy& asked, StreamHandle stream, PlaceId gpu);
/// The same where its ends are known. Every message of another process's memory would change all
/// addresses of a graph: it goes as streams, unless an executor has been chosen.
CopyCall call_of(const ProgramCopy& asked, StreamHandle stream, PlaceId gpu,
                 const ProgramEnds& ends, std::optional<Executor> chosen);

}  // namespace polypath::preload
