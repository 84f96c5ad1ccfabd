#pragma once
// Memory of a GPU that is given back without waiting for queued work.
//
// cuMemFree waits until all that its context has queued is done, and other threads' driver calls in
// that context meanwhile wait as well: behind a kernel that waits for the program, for ever.
// Unmapping and releasing memory takes 0.2 ms, independent of queued work (H200, driver 580,
// results/h200x2/giving_back.json). So the caller has to know that nothing uses it any more.

#include <memory>
#include <vector>

#include "core/units.h"
#include "driver/cuda/cuda_api.h"

namespace polypath::cuda {

class MappedMemory {
 public:
  /// At least so many bytes of the GPU `owner`, for it and for `users`, which must be able to reach
  /// it. Null where the GPU has no virtual memory management. Error (out_of_memory).
  static std::unique_ptr<MappedMemory> make(Bytes bytes, Device owner,
                                            const std::vector<Device>& users);
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  ~MappedMemory();

  [[nodiscard]] DevicePointer base() const { return base_; }

 private:
  MappedMemory() = default;
  [[nodiscard]] bool map(Device owner, const std::vector<Device>& users);

  std::size_t size_ = 0;
  std::uint64_t memory_ = 0;
  bool made_ = false, mapped_ = false;
  DevicePointer base_ = 0;
};

}  // namespace polypath::cuda
