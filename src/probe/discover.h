#pragma once
// A machine from the drivers' descriptions, before anything has been measured: the structure is
// right, the numbers are nominal rates less the cost of protocols, and careful where nothing is
// known.
//
//   NVLink       links · rate per link · 0.87        (393 of 450 GB/s, 48 of 50 GB/s were measured)
//   PCIe         width · rate per lane · 0.85, 1.7 of it with both directions at once
//   host memory  out: two PCIe links, in: one and a half, together: two and a quarter, per NUMA
//   node
//
// Behind a switch all paths of a GPU share its port; direct links are each pair's own. Call costs,
// latencies and driver properties are those measured on the H200 machine of the zoo: they vary
// little.

#include "driver/computer.h"
#include "machine/machine.h"

namespace polypath::probe {

/// How the description of such a machine ends.
inline constexpr const char* kNotMeasured = "; nominal rates, not measured.";

/// The computer as a machine named after its GPUs ("nvidia-h200-x4"); its GPU places are in the
/// order of `computer.gpus`. Error (unsupported) with its problem if it has none.
Machine machine_of(const Computer& computer);

}  // namespace polypath::probe
