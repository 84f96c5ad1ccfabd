#pragma once
// Where the ends of a copy are, by the driver; bad arguments are refused.

#include "driver/driver.h"
#include "engine/call/copy_call.h"
#include "engine/call/copy_set.h"

namespace polypath::engine {

/// Errors: invalid_argument (null, unknown memory, a range beyond its allocation).
CopyEnds resolve_memory(Driver& driver, const CopyCall& call);
/// The same for one of many copies: the driver is not asked about an allocation that was `seen`
/// with the one before.
CopyEnds resolve_memory(Driver& driver, const CopyCall& call, SeenBefore& seen);
/// Error: invalid_argument, if the two ranges overlap.
void refuse_overlap(const CopyCall& call);

}  // namespace polypath::engine
