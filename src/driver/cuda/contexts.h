#pragma once
// The contexts of the GPUs.
//
// Memory and streams of the program are in the GPUs' primary contexts, which are retained when
// first used and given back at the end. Polypath's own memory and streams may be in contexts of our
// own: CUDA gives the streams of a context a few channels, and lets calls wait for all work of a
// context. Behind a kernel that waits for the program, streams of ours on another GPU made its
// cuCtxSynchronize, cuMemFree, cuMemFreeHost, cuMemHostUnregister and pageable copies there wait
// for ever, and streams of the program that shared their channels stand still. With contexts of our
// own none of that happens (H200, driver 580, results/h200x2/own_contexts.json). They reach all
// memory of the process. They cost half a GB of each GPU, and 0.15 s to make.

#include <array>
#include <atomic>
#include <mutex>
#include <optional>

#include "driver/cuda/cuda_api.h"

namespace polypath::cuda {

constexpr std::size_t kMostGpus = 64;

class Contexts {
 public:
  /// `own`: whether what is ours is in contexts of our own.
  explicit Contexts(bool own);
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
  /// Releases what was retained, unless the process is another one now or CUDA has shut down.
  ~Contexts();

  /// The GPU's primary context. Creating one takes a tenth of a second and half a GB of its memory.
  ContextPointer of(int gpu);
  /// The context for streams and memory of ours: the primary one, or one made now.
  ContextPointer ours(int gpu);
  /// True if ours() are not the primary ones.
  [[nodiscard]] bool are_own() const { return own_; }
  /// True if ours() takes no time.
  [[nodiscard]] bool has(int gpu) const {
    const auto& made = own_ ? owns_ : contexts_;
    return made[static_cast<std::size_t>(gpu)].load(std::memory_order_acquire) != nullptr;
  }
  /// For calls that want any context: the thread's own, else a context that is retained already,
  /// else one in use by the process, else the first GPU's.
  ContextPointer any();
  /// For objects that must last: a context that is retained already, else the first GPU's.
  ContextPointer retained();
  /// The GPU whose primary context this is; none for a context that the program has created.
  [[nodiscard]] std::optional<int> gpu_of(ContextPointer context);
  /// The same if it is retained already; nothing is asked or retained.
  [[nodiscard]] std::optional<int> gpu_of_retained(ContextPointer context) const;
  /// False once a context that was retained here has been destroyed by other code: then everything
  /// of ours in it is gone, and using it would end the process.
  [[nodiscard]] bool are_alive() const;
  /// True in the process that made this object.
  [[nodiscard]] bool usable() const;

 private:
  void retain(int gpu);
  void make_own(int gpu);

  const Functions& cuda_;
  bool own_;
  int process_;
  std::mutex mutex_;
  std::array<std::atomic<ContextPointer>, kMostGpus> contexts_{}, owns_{};
  std::array<std::atomic<std::uint64_t>, kMostGpus> ids_{};
};

/// A number that tells a context from a later one with its pointer: CUDA gives a primary context
/// that is made again the pointer that it had. 0 if the context no longer exists, or the driver
/// cannot say.
std::uint64_t id_of(ContextPointer context);

/// A context that is neither primary nor the program's, current for no thread. Takes 0.15 s and
/// half a GB of the GPU's memory. It is never destroyed: that would wait for the streams of the
/// program for which something in it waits. Error (driver).
ContextPointer make_context(Device gpu);

/// True if the process uses the GPU's primary context, even if other code made it.
bool is_active(Device gpu);

/// Makes a context current for the calling thread as long as it lives.
class Current {
 public:
  explicit Current(ContextPointer context);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

 private:
  bool pushed_ = false;
};

/// Lets the calling thread allocate and instantiate while another one captures a stream.
class RelaxedCapture {
 public:
  RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture();

 private:
  int mode_;
};

}  // namespace polypath::cuda
