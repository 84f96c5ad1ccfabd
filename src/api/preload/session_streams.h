#pragma once
// The program's streams: whose they are, and whether what is in them may wait
// for the program.

#include <optional>
#include <vector>

#include "api/preload/program_copy.h"
#include "api/preload/program_ends.h"
#include "api/preload/stream_watch.h"
#include "context/open.h"
#include "driver/cuda/cuda_driver.h"

namespace polypath::preload {

/// Thread-safe.
class SessionStreams {
 public:
  SessionStreams(const OpenMachine& opened, cuda::CudaDriver& driver);

  /// The stream's GPU; none if the stream is in a context of the program's own.
  [[nodiscard]] std::optional<PlaceId> place_of(cuda::StreamPointer stream);
  /// The stream for the engine.
  [[nodiscard]] StreamHandle handle_of(cuda::StreamPointer stream, PlaceId gpu);
  [[nodiscard]] int number_of(PlaceId gpu) const;
  /// The GPU's primary context, in which the program's streams are.
  [[nodiscard]] cuda::ContextPointer context_of(PlaceId gpu);
  /// The same of a default stream's GPU; null for another stream.
  [[nodiscard]] cuda::ContextPointer context_of_default(cuda::StreamPointer stream, PlaceId gpu) {
    return is_default_stream(stream) ? context_of(gpu) : nullptr;
  }

  /// False if nothing of the program's can be in the GPU's default stream, as it has no context
  /// there. Memory that belongs to no context may be such a GPU's.
  [[nodiscard]] bool has_default_stream(PlaceId gpu) const {
    return cuda::is_active(number_of(gpu));
  }

  /// Whether a wait is worth it: some work may end a moment later.
  enum class Polling { no, yes };
  /// True if nothing that the copy's stream waits for can wait for the program
  /// (StreamWatch).
  [[nodiscard]] bool waits_for_nobody(const ProgramQuestion& question, Polling polling);
  /// True if something in the stream may wait for the program: no question is
  /// asked.
  [[nodiscard]] bool may_wait(cuda::StreamPointer stream, PlaceId gpu);

 private:
  [[nodiscard]] bool becomes_idle(const ProgramQuestion& question, StreamWatch::Order order);
  [[nodiscard]] bool is_idle(const ProgramQuestion& question, StreamWatch::Order order);
  [[nodiscard]] bool is_finished(PlaceId gpu, cuda::StreamPointer stream);

  const OpenMachine& opened_;
  cuda::CudaDriver& driver_;
  std::vector<PlaceId> gpus_;  ///< by number
};

}  // namespace polypath::preload
