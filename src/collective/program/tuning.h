#pragma once
// The free parameters of an algorithm: they change the time, never the result.

#include <compare>

#include "core/settings.h"
#include "core/units.h"
#include "machine/machine.h"

namespace polypath::collective {

/// Slots of scratch memory of each hop: for pieces, two pieces at a time, each of which goes from
/// one slot into another; and for messages that go over it to be staged, one filled, one emptied.
inline constexpr int kPieceSlots = 4, kStagingSlots = 2;

/// The settings with slots as large as POLYPATH_COLLECTIVE_SCRATCH allows on this machine: a GPU
/// has them for a hop from each other GPU.
Settings with_collective_slots(Settings settings, const Machine& machine);

struct Tuning {
  /// Messages go in pieces of at most so many bytes, one after another through the same steps. Each
  /// has to fit a slot, where slots are used.
  Bytes piece = 1_MiB;
  /// So many slots of a hop, side by side, are one: fewer pieces, each of which fits that.
  int joined = 1;
  /// Base of the ranks' numbers, of those algorithms that have one; at least 2.
  int radix = 2;
  /// Each message may go over several paths, as the planner divides it.
  bool several_paths = false;
  /// Messages go by way of a host where that is faster than a direct copy.
  bool by_hosts = false;
  /// Of an all-reduce along trees: all sums are made before results are given back, so that copies
  /// of both do not stand in each other's way.
  bool in_phases = false;
  /// As a joint plan divides it, which takes long to make; else as the share program does.
  bool by_joint_plan = false;
  /// Bytes for a rank's own memory arrive in its scratch memory, so no rank knows the address of
  /// another rank's own memory. For ranks that are processes of their own.
  bool private_memory = false;
  /// A GPU's copies to others go one after another in one queue, and each receiver is sent to by
  /// one GPU at a time. For GPUs whose copies share a port: at once, or with a new receiver for
  /// each piece, they reach 0.4 to 0.6 of what it carries, and whole blocks in turn 0.95
  /// (results/h100x4/copies_in_turn.json).
  bool in_turn = false;
  /// That kernels which exchange messages take at most; 0: as many as leave room for others.
  unsigned multiprocessors = 0;
  /// The nodes do not come after each other: of what is composed only for its bounds.
  bool without_order = false;

  auto operator<=>(const Tuning&) const = default;
};

}  // namespace polypath::collective
