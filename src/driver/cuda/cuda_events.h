#pragma once
// Events of ours in streams of the program's contexts and of our own.

#include <optional>

#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/cuda_streams.h"
#include "driver/cuda/handles.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe. The functions are those of Driver with the same names.
class CudaEvents {
 public:
  CudaEvents(const CudaGpus& gpus, Contexts& contexts, CudaStreams& streams);

  /// `flags` are CUDA's: with timing or without.
  EventHandle create(PlaceId gpu, unsigned flags);
  void destroy(EventHandle event);
  void record(EventHandle event, StreamHandle stream);
  void wait(StreamHandle stream, EventHandle event);
  [[nodiscard]] bool is_done(EventHandle event);
  [[nodiscard]] std::optional<Seconds> elapsed(EventHandle begin, EventHandle end);
  void synchronize(EventHandle event);

 private:
  struct Recorded {
    ContextPointer context;
    EventPointer event;
  };

  [[nodiscard]] ContextPointer context_of(EventHandle event, Event::Kind kind);
  [[nodiscard]] EventPointer made_for(EventHandle event, Event::Kind kind);
  [[nodiscard]] std::optional<Recorded> recorded(EventHandle event);

  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  CudaStreams& streams_;
};

}  // namespace polypath::cuda
