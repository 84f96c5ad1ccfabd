#pragma once
// How much of this computer's memory simulated bytes may take, in a container as well.

#include "core/units.h"

namespace polypath::bench {

/// All that the system has, or that the process's control group may have (cgroup v2, memory.max):
/// the lesser. No bound if neither tells.
Bytes memory_of_this_computer();
/// The part of it that is left without swapping.
Bytes free_memory();

}  // namespace polypath::bench
