#pragma once
// How long nobody waits in vain. Internal to src/collective.

#include "core/units.h"

namespace polypath {

/// For what is on the GPU to end: after an abort, when a proxy ends, and where a part could not be
/// enqueued as a whole.
inline constexpr Seconds kPatienceWithGpu{10};

/// The same where the driver does not say whether it has.
inline constexpr Seconds kPatienceUnanswered{1};

/// For what other ranks have on their GPUs to end, after an abort: memory that they may still use
/// is not given back.
inline constexpr Seconds kPatienceWithOthers{2};

}  // namespace polypath
