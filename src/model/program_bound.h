#pragma once
// A lower bound of a program's run time, without playing it.
//
// Resource r, of capacity C_r, carries w·b of each copy of b bytes over a hop that takes w of it;
// an engine that makes one copy at a time is busy for b/β with each. Copies of the same resource
// cannot do better than one after another:
//
//   T ≥ max over r of Σ w·b / C_r,   and for an engine Σ b/β
//
// Latencies, calls, reductions and kernels are left out: they only add to it.

#include "machine/machine.h"
#include "model/program.h"

namespace polypath::model {

/// Of a program that does `times` as much of everything.
Seconds least_time(const Machine& machine, const Program& program, double times = 1);

/// The same for any paths of the bytes that the program copies from one place to another: bytes
/// that leave a place, or arrive, go over all its hops at best. Hops that share their narrowest
/// resource have it once.
///
///   T ≥ max over places of (bytes that leave)/(Σ capacities), and of those that arrive
Seconds least_time_by_any_way(const Machine& machine, const Program& program, double times = 1);

}  // namespace polypath::model
