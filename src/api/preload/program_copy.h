#pragma once
// A copy as the program asked the driver for it.

#include <cstddef>
#include <numeric>
#include <span>

#include "driver/cuda/cuda_types.h"
#include "driver/driver.h"

namespace polypath::preload {

/// Whose stream the null one is for this form of the call.
enum class NullStream { legacy, own };

struct ProgramCopy {
  Address destination;
  Address source;
  Bytes bytes;
  cuda::StreamPointer stream = nullptr;  ///< null: the legacy default stream
  bool blocking = false;                 ///< the call returns when the copy is done
};

/// Copies that the program asks for at once, in any order.
struct ProgramBatch {
  std::span<const cuda::DevicePointer> destinations;
  std::span<const cuda::DevicePointer> sources;
  std::span<const std::size_t> sizes;
  cuda::StreamPointer stream = nullptr;

  [[nodiscard]] Bytes bytes() const {
    return {std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0})};
  }
  [[nodiscard]] ProgramCopy copy(std::size_t number) const {
    return {.destination = {static_cast<std::uintptr_t>(destinations[number])},
            .source = {static_cast<std::uintptr_t>(sources[number])},
            .bytes = {sizes[number]},
            .stream = stream};
  }
};

/// The stream that a call means by `given`: null for the legacy default stream, however it is
/// written, and CUDA's own name for the thread's.
inline cuda::StreamPointer stream_of(cuda::StreamPointer given, NullStream null_means) {
  const auto value = reinterpret_cast<std::uintptr_t>(given);
  if (value == cuda::kStreamLegacy) return nullptr;
  if (value != 0 || null_means == NullStream::legacy) return given;
  return reinterpret_cast<cuda::StreamPointer>(cuda::kStreamPerThread);
}

/// True for the legacy default stream and the thread's own one, as stream_of says them.
inline bool is_default_stream(cuda::StreamPointer stream) {
  return stream == nullptr || reinterpret_cast<std::uintptr_t>(stream) == cuda::kStreamPerThread;
}

}  // namespace polypath::preload
