#pragma once
// Where a program's memory is, as far as MPI's calls depend on it.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collective/rank/seen_gpus.h"
#include "core/settings.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::mpi {

/// The driver's number of the GPU that has the memory; none of memory that the host reads and
/// writes. Managed memory is a GPU's here. Must be quick.
using GpuOf = std::optional<int> (*)(const void* memory);

/// GPUs with the program's own contexts.
struct Surroundings {
  Driver& driver;
  const Machine& machine;
  Settings settings;
  std::vector<PlaceId> visible = {};    ///< that this process sees, by the driver's numbers
  std::vector<std::string> names = {};  ///< of these on this computer

  /// The driver's number of a visible GPU.
  [[nodiscard]] int number_of(PlaceId gpu) const {
    return static_cast<int>(std::ranges::find(visible, gpu) - visible.begin());
  }
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
