#pragma once
// Whether all ranks of a job on several computers are under Polypath, which none can see of other
// computers: by messages that a rank without Polypath does not answer.
//
// Rank 0 hears all others for a while, and tells those that have come whether all have. Without its
// word within a longer time a rank goes on as if others were missing.

#include <cstdint>

#include "core/units.h"
#include "mpi/library.h"

namespace polypath::mpi {

struct RollCallTimes {
  Seconds to_come{10};  ///< MPI is initialised at all ranks at about the same time
  Seconds to_hear{60};
};

/// All ranks under Polypath call it after MPI is initialised. True if all ranks of the job do, and
/// say the same.
[[nodiscard]] bool call_roll(const Library& library, std::uint64_t said, RollCallTimes times = {});

}  // namespace polypath::mpi
