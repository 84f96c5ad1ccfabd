#pragma once
// One-sided calls whose window, or whose own memory, is on a GPU.
//
//   the window is on a GPU ─▶ put or get of types without gaps? one copy between the memories
//                          └▶ the target's bytes in a window of this rank alone, in the host: MPI
//                             makes the program's call there; what it has written is copied back
//   it is in the host      ─▶ MPI's, with copies in the host of what is a GPU's

#include "mpi/device_elements.h"
#include "mpi/one_sided.h"
#include "mpi/self_window.h"

namespace polypath::mpi {

/// The calling rank's memories of one call as MPI finds them.
struct HostSides {
  HostElements origin, compare, result;

  [[nodiscard]] Instead instead_of(const OneSidedCall& call) const {
    return {.origin = origin.memory(),
            .compare = compare.memory(),
            .result = result.memory(),
            .target = call.target,
            .displacement = call.displacement,
            .window = call.window};
  }
};

/// Of one process. Thread-safe as far as MPI is.
class OneSidedCalls {
 public:
  /// `library` must outlive it.
  OneSidedCalls(const Library& library, GpuOf gpu_of)
      : library_(library), gpu_of_(gpu_of), self_(library) {}

  /// True if one of the rank's own memories is a GPU's.
  [[nodiscard]] bool is_from_gpu(const OneSidedCall& call) const;
  /// `target` is where the elements begin. The caller sees to it that an atomic call is alone.
  /// Errors: those of the driver.
  Result on_gpu(const OneSidedCall& call, const RealOneSided& real, const Reached& target);
  /// Copies of what is a GPU's, with the bytes that the call reads. Errors: those of the driver.
  HostSides copied(const OneSidedCall& call, const Surroundings& around);
  /// Before MPI ends.
  void end() noexcept { self_.end(); }

 private:
  [[nodiscard]] bool is_from_gpu(const Elements& elements) const;
  [[nodiscard]] bool copy_at_once(const OneSidedCall& call, const Reached& target) const;
  /// The bytes of an element, if the call may be made of several with parts of the elements; else
  /// 0.
  [[nodiscard]] Count divisible(const OneSidedCall& call) const;
  Result by_mpi(const OneSidedCall& call, const RealOneSided& real, const Reached& target,
                Count share);
  [[nodiscard]] bool writes(const OneSidedCall& call) const;
  [[nodiscard]] HostElements copied(const Elements& elements, const Surroundings& around);

  const Library& library_;
  GpuOf gpu_of_;
  SelfWindow self_;
};

}  // namespace polypath::mpi
