#pragma once
// How long nobody waits in vain. Internal to src/collective.

#include "core/units.h"

namespace polypath {

/// For what is on the GPU to end: after an abort, when a proxy ends, and where a part could not be
/// enqueued as a whole.
inline constexpr Seconds kPatienceWithGpu{10};

}  // namespace polypath
