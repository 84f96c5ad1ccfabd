#pragma once
// Where a program's memory is, as far as MPI's calls depend on it.

#include <cstdint>
#include <functional>
#include <optional>

#include "collective/rank/seen_gpus.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::mpi {

/// The driver's number of the GPU that has the memory; none of memory that the host reads and
/// writes. Managed memory is a GPU's here. Must be quick.
using GpuOf = std::optional<int> (*)(const void* memory);

inline Address address_of(const void* memory) { return {reinterpret_cast<std::uintptr_t>(memory)}; }

/// GPUs with the program's own contexts.
struct Surroundings : RanksMachine {
  /// Makes a large copy over several paths, behind what is in the GPU's default stream, and waits
  /// for it; false: that does not pay, and nothing was done. Null: every copy is native.
  std::function<bool(const NativeCopy& copy, PlaceId gpu)> by_paths = {};

  /// The GPU's legacy default stream. What a program has copied from pageable memory may still be
  /// under way there when it calls MPI.
  [[nodiscard]] StreamHandle default_stream(PlaceId gpu) const {
    constexpr std::uintptr_t kLegacy = 1;
    return driver.foreign_stream(gpu, kLegacy);
  }
};

/// Makes them when they are first needed. Errors: those of opening a machine.
using Open = std::function<const Surroundings&(GpusOf which)>;

}  // namespace polypath::mpi
