#pragma once
// Counters of the engine's work.

#include <cstdint>

#include "core/units.h"

namespace polypath::engine {

struct Statistics {
  std::uint64_t transfers = 0;      ///< copies asked for: the sum of the next six
  std::uint64_t native = 0;         ///< done as one native copy by decision
  std::uint64_t streams = 0;        ///< done over several paths by streams
  std::uint64_t graphs = 0;         ///< done over several paths by a graph
  std::uint64_t pageable = 0;       ///< done through windows of pinned memory
  std::uint64_t fallbacks = 0;      ///< done as one native copy because something failed
  std::uint64_t errors = 0;         ///< not done
  std::uint64_t graph_hits = 0;     ///< launches of a cached graph as it was
  std::uint64_t graph_updates = 0;  ///< launches of a cached graph with new addresses
  std::uint64_t graph_instantiations = 0;
  std::uint64_t graph_evictions = 0;
  Bytes bytes;         ///< of all transfers
  Bytes staged_bytes;  ///< of these, over staged paths
};

}  // namespace polypath::engine
