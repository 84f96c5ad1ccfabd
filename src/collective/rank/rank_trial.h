#pragma once
// Whether bytes arrive that ranks write into each other's memory, or read there.
//
// Behind ACS or an IOMMU a driver may let a GPU use another one's memory, or the host's, and then
// drop what is written, without an error (driver/cuda/peer_check.h). A process that has opened
// another one's memory cannot know by itself, so ranks find out together when they join.

#include <vector>

#include "collective/rank/exchanged_memory.h"
#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::collective {

/// Every rank calls it at the same time. Each writes a pattern into memory of every other rank that
/// its GPU reaches, and into the host's if flags are there (`flags`), and reads one there. Waits
/// for these copies, of 64 KiB each. Errors: (driver) at all ranks if bytes of any two did not
/// arrive; those of the driver and of the exchange.
void try_rank_memory(Driver& driver, const Machine& machine, const std::vector<PlaceId>& ranks,
                     int rank, PlaceId flags, const AllGather& all_gather);

}  // namespace polypath::collective
