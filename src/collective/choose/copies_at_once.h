#pragma once
// What copies among several GPUs cost that leave a GPU by one port: the model of links does not say
// it, measurements do.

#include <span>

#include "collective/program/request.h"
#include "core/units.h"
#include "machine/machine.h"

namespace polypath::collective {

/// True where each GPU's copies go to one receiver after another, and each receiver is sent to by
/// one GPU at a time.
bool take_turns(const Machine& machine, const CollectiveRequest& request);

/// True of long messages where one engine makes all copies of a GPU to others, and kernels send
/// none: turns may gain, by the model of links.
bool may_gain_by_turns(const Machine& machine, const CollectiveRequest& request);

/// The time that copies in turn take beyond their prediction.
Seconds cost_of_turns(const Machine& machine, const CollectiveRequest& request);

/// The gain that programs of copies must have over a program of kernels alone among ranks that are
/// processes.
double least_gain_of_copies(const Machine& machine, std::span<const PlaceId> ranks, bool in_turn);

}  // namespace polypath::collective
