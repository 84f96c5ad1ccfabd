#pragma once
// Streams: ours, made in groups and kept for the next one, and those of the program.

#include <map>
#include <optional>
#include <vector>

#include "core/brief_mutex.h"
#include "driver/cuda/contexts.h"
#include "driver/cuda/cuda_gpus.h"
#include "driver/cuda/handles.h"
#include "driver/driver.h"

namespace polypath::cuda {

/// Thread-safe. The functions are those of Driver with the same names.
class CudaStreams {
 public:
  CudaStreams(const CudaGpus& gpus, Contexts& contexts);
  CudaStreams(const CudaStreams&) = delete;
  CudaStreams& operator=(const CudaStreams&) = delete;
  /// Gives all spare ones back to the process (stream_room.h). Does nothing in a forked child.
  ~CudaStreams();

  StreamHandle create(PlaceId gpu);
  void destroy(StreamHandle stream);
  [[nodiscard]] StreamHandle foreign(PlaceId gpu, std::uintptr_t stream) const;
  [[nodiscard]] std::optional<PlaceId> gpu_of_foreign(std::uintptr_t stream);
  [[nodiscard]] bool is_capturing(StreamHandle stream);
  void synchronize(StreamHandle stream);

  [[nodiscard]] ContextPointer context_of(StreamHandle stream) {
    const int gpu = gpus_.of_handle(stream.value);
    return is_foreign(stream) ? contexts_.of(gpu) : contexts_.ours(gpu);
  }

 private:
  void make_spare(int gpu);

  const Functions& cuda_;
  const CudaGpus& gpus_;
  Contexts& contexts_;
  BriefMutex mutex_;
  std::map<int, std::vector<StreamPointer>> spare_;  ///< by GPU
};

}  // namespace polypath::cuda
