#pragma once
// Elements in memory of a GPU, and their copies in the host.

#include <cstddef>
#include <memory>

#include "mpi/memory.h"
#include "mpi/type_layout.h"

namespace polypath::mpi {

/// Memory that a GPU reaches. What is in the GPU's default stream comes before each copy.
struct Reached {
  const Surroundings* around = nullptr;
  Address address;
  PlaceId gpu;

  [[nodiscard]] Reached at(Count offset) const {
    return {around, {address.value + static_cast<std::uintptr_t>(offset)}, gpu};
  }
  /// From or to any memory, and waits. Errors: those of the driver.
  void read(void* into, Count bytes) const;
  void write(const void* from, Count bytes) const;

 private:
  void copy(const NativeCopy& copy) const;
};

/// Elements of one type.
struct DeviceElements {
  Reached memory;
  TypeLayout layout;

  /// Copies the bytes from the first to the last one, and waits. `host` is what the elements'
  /// address is there, as that of all copies below.
  void read(std::byte* host) const;
  /// Copies those that are the elements', without the gaps, and waits.
  void write(const std::byte* host) const;
};

/// Elements of the program's in the host: its own memory, or a copy if that is a GPU's.
class HostElements {
 public:
  /// Of the host.
  explicit HostElements(void* memory) : memory_(memory) {}
  /// Of a GPU. Nothing is copied yet.
  explicit HostElements(DeviceElements device);

  [[nodiscard]] void* memory() const { return bytes_ == nullptr ? memory_ : at(); }
  void read() const;
  void write() const;

 private:
  [[nodiscard]] std::byte* at() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes_.get());
    return reinterpret_cast<std::byte*>(begin -
                                        static_cast<std::uintptr_t>(device_.layout.range.begin));
  }

  void* memory_ = nullptr;
  DeviceElements device_;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace polypath::mpi
