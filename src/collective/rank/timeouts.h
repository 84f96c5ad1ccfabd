#pragma once
// Upper bounds on waiting for the GPU. Internal to src/collective.

#include "core/units.h"

namespace polypath::collective {

/// For work on the GPU to end: after an abort, when a proxy ends, and where a part could not be
/// enqueued as a whole.
inline constexpr Seconds kGpuTimeout{10};

/// The same where the driver does not say whether it has.
inline constexpr Seconds kUnansweredTimeout{1};

/// For other ranks' work on their GPUs to end, after an abort: memory that they may still use is
/// not given back.
inline constexpr Seconds kPeerTimeout{2};

}  // namespace polypath::collective
