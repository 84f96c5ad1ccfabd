#pragma once
// Words in a GPU's memory that are written although all streams of the program's context wait.
//
// CUDA gives the streams of a context a few channels, and the work of a channel goes in order:
// behind 8 waiting streams nothing moves, in any stream and at any priority. A context that the
// program did not make has channels of its own, and writes to the memory of the other ones (H200,
// driver 580, results/h200x1/held_streams.json). Destroying it would wait for the program's
// streams, so it stays.

#include <map>
#include <mutex>

#include "core/ids.h"
#include "driver/cuda/cuda_types.h"

namespace polypath::cuda {

/// Thread-safe.
class SignalContexts {
 public:
  /// This process's, never destroyed.
  static SignalContexts& of_process();

  /// Writes a word in the GPU's memory and waits until it is there. A GPU's first one makes a
  /// context, which takes a tenth of a second and half a GB of its memory. Errors of the driver.
  void write(Device gpu, DevicePointer word, std::uint32_t value);

 private:
  struct Own {
    ContextPointer context = nullptr;
    StreamPointer stream = nullptr;
  };
  const Own& own(Device gpu);

  std::mutex mutex_;
  std::map<Device, Own> own_;
};

}  // namespace polypath::cuda
