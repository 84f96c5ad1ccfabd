#pragma once
// Memory of other owners, mapped here at addresses of our own: several memories without a gap.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/units.h"
#include "driver/cuda/cuda_api.h"

namespace polypath::cuda {

/// A reference to memory apart from addresses; gives itself back.
class MemoryReference {
 public:
  MemoryReference(std::uint64_t handle, Bytes size) : handle_(handle), size_(size) {}
  MemoryReference(MemoryReference&& other) noexcept
      : handle_(std::exchange(other.handle_, 0)), size_(other.size_) {}
  MemoryReference& operator=(MemoryReference&&) = delete;
  ~MemoryReference();

  [[nodiscard]] std::uint64_t handle() const { return handle_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  std::uint64_t handle_;
  Bytes size_;
};

/// Unmaps itself, without waiting for queued work.
class MappedRun {
 public:
  /// The memories in order, open to all `users`. The references are not needed any longer. Error
  /// (driver) if they cannot be mapped, or not be opened to one of these GPUs.
  MappedRun(const std::vector<MemoryReference>& memories, const std::vector<Device>& users);
  MappedRun(const MappedRun&) = delete;
  MappedRun& operator=(const MappedRun&) = delete;
  ~MappedRun();

  [[nodiscard]] DevicePointer base() const { return base_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  void map(const std::vector<MemoryReference>& memories);
  void give_back() const;

  Bytes size_;
  Bytes mapped_;  ///< from the beginning
  DevicePointer base_ = 0;
};

}  // namespace polypath::cuda
