#pragma once
// A call that MPI makes with copies in the host of what is a GPU's: right for every function, type
// and reduction, with any MPI.

#include <cstddef>
#include <memory>

#include "mpi/call.h"
#include "mpi/memory.h"

namespace polypath::mpi {

/// The bytes of one of a call's memories in the host, if it is a GPU's.
class HostCopy {
 public:
  /// Waits for the copy. Errors: those of the driver.
  HostCopy(const Library& library, const Surroundings& around, const Side& side, GpuOf gpu_of);

  /// Where MPI finds them: in the program's memory, if that is the host's.
  [[nodiscard]] void* memory() const {
    if (bytes_ == nullptr) return memory_;
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes_.get());
    return reinterpret_cast<void*>(begin - static_cast<std::uintptr_t>(range_.begin));
  }
  /// Copies them anew from the program's memory, and waits for that.
  void take();
  /// Copies them to the program's memory, and waits for that.
  void give_back();

 private:
  [[nodiscard]] Address first() const {
    return {address_of(memory_).value + static_cast<std::uintptr_t>(range_.begin)};
  }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(range_.end - range_.begin);
  }

  const Surroundings& around_;
  void* memory_;
  Range range_;
  PlaceId gpu_;
  std::unique_ptr<std::byte[]> bytes_;
};

/// Both memories of a call. What is received is copied first, too: bytes that the call leaves alone
/// stay what they are, and in place they are what is sent.
class HostCopies {
 public:
  HostCopies(const Library& library, const Surroundings& around, const Call& call, GpuOf gpu_of)
      : received_(library, around, call.receive, gpu_of),
        sent_(library, around, call.operation == Operation::broadcast ? Side{} : call.send, gpu_of),
        is_one_(call.operation == Operation::broadcast) {}

  [[nodiscard]] const void* send() const { return is_one_ ? receive() : sent_.memory(); }
  [[nodiscard]] void* receive() const { return received_.memory(); }
  /// Both anew: for the next of several calls.
  void take() { received_.take(), sent_.take(); }
  void give_back() { received_.give_back(); }

 private:
  HostCopy received_, sent_;
  bool is_one_;
};

}  // namespace polypath::mpi
