#pragma once
// The simulated driver's copies: of hops, native ones of any memory, fills, and reductions, which
// are kernels with a stated cost (Machine::reduction_time).

#include <optional>
#include <vector>

#include "driver/sim/memory.h"
#include "driver/sim/sim_memory.h"
#include "driver/sim/sim_streams.h"
#include "driver/sim/simulation.h"

namespace polypath::sim {

/// The functions are those of SimDriver with the same names.
class SimCopies {
 public:
  SimCopies(Simulation& simulation, const SimMemory& memory, SimStreams& streams)
      : simulation_(simulation), memory_(memory), streams_(streams) {}

  void copy(const CopyRequest& request, StreamHandle stream);
  void copy_native(const NativeCopy& request, StreamHandle stream);
  void reduce(const CopyRequest& request, const Reduction& reduction, StreamHandle stream);
  void fill(Address destination, Bytes bytes, const std::vector<std::byte>& pattern,
            StreamHandle stream);

  /// Error (invalid_argument) unless both ends are live memory, apart from each other.
  void check(const CopyRequest& request) const;
  /// The same of a reduction.
  void check_reduction(const CopyRequest& request, const Reduction& reduction) const;
  /// No hop within one place: such a copy takes no time here.
  [[nodiscard]] HopId hop_of(const CopyRequest& request) const;
  [[nodiscard]] ActivityPointer make_activity(const CopyRequest& request, HopId hop,
                                              const std::optional<Reduction>& reduction);
  /// One more step of the thread, and what it reads and writes.
  void step(const CopyRequest& request, std::size_t thread);

 private:
  [[nodiscard]] MemoryInfo known(Address address, const char* what) const;
  void enqueue_copy(const CopyRequest& request, SimStream& stream);
  void enqueue(const CopyRequest& request, HopId hop, const std::optional<Reduction>& reduction,
               SimStream& stream);
  void copy_pageable(const CopyRequest& request, const MemoryInfo& to, const MemoryInfo& from,
                     SimStream& stream);
  void move_bytes(const CopyRequest& request, const std::optional<Reduction>& reduction,
                  const Block& to, const Block& from) const;

  Simulation& simulation_;
  const SimMemory& memory_;
  SimStreams& streams_;
};

}  // namespace polypath::sim
