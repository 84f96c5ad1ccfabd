#pragma once
// Our handles of CUDA's streams and of our events: the pointer, with the GPU's number plus one in
// the 16 bits above the 48 of a user address. Zero stays "none". The uppermost bit says that the
// program made the stream.

#include <array>
#include <atomic>

#include "driver/cuda/cuda_types.h"
#include "driver/driver.h"

namespace polypath::cuda {

constexpr int kGpuShift = 48;
constexpr std::uintptr_t kPointerMask = (std::uintptr_t{1} << kGpuShift) - 1;

inline std::uintptr_t pack(int gpu, const void* pointer) {
  return (static_cast<std::uintptr_t>(gpu + 1) << kGpuShift) |
         reinterpret_cast<std::uintptr_t>(pointer);
}

constexpr std::uintptr_t kForeign = std::uintptr_t{1} << 63;

inline int gpu_in(std::uintptr_t handle) {
  return static_cast<int>((handle & ~kForeign) >> kGpuShift) - 1;
}

/// True for streams that the driver's user made without us; the default stream is one.
inline bool is_foreign(StreamHandle stream) {
  return stream.value == 0 || (stream.value & kForeign) != 0;
}

inline StreamPointer pointer_of(StreamHandle stream) {
  return reinterpret_cast<StreamPointer>(stream.value & kPointerMask);
}

/// An event of ours. CUDA records an event in streams of its own context only, so there is one for
/// each kind of context, made when first needed.
struct Event {
  enum Kind { programs, ours, never };

  unsigned flags = 0;
  std::array<std::atomic<EventPointer>, 2> made{};  ///< by kind
  std::atomic<Kind> recorded = never;               ///< in which it was last
};
inline Event& event_of(EventHandle event) {
  return *reinterpret_cast<Event*>(event.value & kPointerMask);
}

}  // namespace polypath::cuda
