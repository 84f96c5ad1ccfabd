#pragma once
// The identity of a machine, independent of measurements on it.

#include <string>

#include "machine/machine.h"

namespace polypath::machine {

/// 16 hexadecimal digits that depend on the machine's name and structure: names, kinds, models and
/// NUMA nodes of the places; names, kinds and engines of the resources, and whether they have a
/// capacity; ends, kinds and uses of the hops. Not on its description nor on any measured number:
/// a machine and its calibration have the same. The same in every version and on every platform.
std::string fingerprint(const Machine& machine);

}  // namespace polypath::machine
