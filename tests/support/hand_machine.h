#pragma once
// A machine with round figures, so that times can be worked out by hand.

#include "machine/machine.h"
#include "support/layers.h"

namespace polypath::test {

/// Three GPUs and a host; 1 GB/s = 1000 bytes per microsecond.
///   α of every copy: 10 us         copy 1 us, record 2 us, wait 3 us, synchronize 4 us
///   gpu -> gpu: 0.8 GB/s           graph launch 5 us + 1 us per node
///   gpu2 -> gpu1: 0.3 GB/s         instantiate 20 us + 2 us per node, update 0.5 us per node
///   gpu <-> host: 0.5 GB/s         ε at every place: 7 us
/// All gpu -> gpu copies into one GPU share its ingress of 1 GB/s; each GPU has one engine for
/// copies from the host, which does one at a time.
Machine hand_machine();

}  // namespace polypath::test
