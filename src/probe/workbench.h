#pragma once
// The resources of measurements: memory, streams and events of a driver, made when first asked for,
// used again, and given back at the end.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "machine/machine.h"

namespace polypath::probe {

/// Sizes that are computed are multiples of this.
inline constexpr std::uint64_t kGrain = 4096;

/// `driver` and `machine` must live as long. Not thread-safe.
class Workbench {
 public:
  Workbench(Driver& driver, const Machine& machine) : driver_(driver), machine_(machine) {}
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;
  /// Waits for the queued work, then gives everything back. Memory that cannot be waited for, tried
  /// twice, is leaked to the driver, because another owner might receive it otherwise.
  ~Workbench();

  [[nodiscard]] Driver& driver() { return driver_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }

  /// Memory number `slot` of a place, of at least `bytes`. It stays where it is until more is asked
  /// of it; nothing queued may use it then.
  Address memory(PlaceId place, int slot, Bytes bytes);
  /// A copy over a hop between memories of these numbers at its ends.
  CopyRequest copy_over(HopId hop, Bytes bytes, int source_slot = 0, int destination_slot = 0);
  /// Stream number `index` of a GPU.
  StreamHandle stream(PlaceId gpu, int index = 0);
  /// The stream that does a hop's copies.
  StreamHandle stream_of(HopId hop, int index = 0) {
    return stream(machine_.executing_gpu(hop), index);
  }
  EventHandle event(PlaceId gpu, int index = 0);

  /// Waits for all streams.
  void settle();

 private:
  using Key = std::pair<PlaceId, int>;
  struct Block {
    Address address;
    Bytes bytes;
  };

  Driver& driver_;
  const Machine& machine_;
  std::map<Key, Block> blocks_;
  std::map<Key, StreamHandle> streams_;
  std::map<Key, EventHandle> events_;
};

/// A graph of copies, destroyed with this.
class Graph {
 public:
  Graph(Driver& driver, const std::vector<GraphNode>& nodes)
      : driver_(driver), handle_(driver.instantiate(nodes)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  [[nodiscard]] GraphHandle handle() const { return handle_; }

 private:
  Driver& driver_;
  GraphHandle handle_;
};

}  // namespace polypath::probe
