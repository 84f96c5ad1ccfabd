#pragma once
// The engine's own streams, staging memory and events, per directed hop.
//
// Every queue of a program is a stream: each hop has one, so that copies over it run in the order
// of issue (002, section 3.3). The hop into a staging place owns the ring of slots there. The next
// use of the ring is ordered after its last use in two ways: the hop's stream waits for it, and
// `last` names it.

#include <map>
#include <memory>
#include <vector>

#include "core/settings.h"
#include "driver/driver.h"
#include "engine/execute/events.h"
#include "engine/execute/transfer.h"
#include "machine/machine.h"
#include "model/path.h"

namespace polypath::engine {

/// The stream of a program's queue, and its events.
struct QueueStream {
  QueueStream(Driver& used_driver, PlaceId owning_gpu);
  QueueStream(const QueueStream&) = delete;
  QueueStream& operator=(const QueueStream&) = delete;
  ~QueueStream();

  Driver& driver;
  PlaceId gpu;
  StreamHandle stream;
  EventList events;  ///< by Node::event
  EventSet end;      ///< of the last program's part in the queue
};

/// The staging slots behind one hop.
struct StagingRing {
  StagingRing(Driver& used_driver, PlaceId staging_place, const StagingUsers& users, Bytes slot,
              int slot_count);
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;
  ~StagingRing();

  [[nodiscard]] Address slot(int index) const;

  Driver& driver;
  PlaceId place;
  Bytes slot_bytes;
  Address base;
  EventSet last_use;
  EventHandle last;   ///< that stands for the last use; none before the first
  bool lost = false;  ///< work that uses it may be queued, but cannot be waited for: keep off
};

/// What a ring is found by: it is open to the GPUs that use it, and to no others.
struct RingUse {
  HopId filled_over;
  PlaceId puller = {};  ///< the GPU that empties it; invalid if that is the staging place's own

  auto operator<=>(const RingUse&) const = default;
};

/// Streams by queue, and rings by their use.
struct HopParts {
  std::map<Queue, std::unique_ptr<QueueStream>> streams;
  std::map<RingUse, std::unique_ptr<StagingRing>> rings;

  [[nodiscard]] bool empty() const { return streams.empty() && rings.empty(); }
};

/// All hops used so far. Not thread-safe; the engine guards it.
class Hops {
 public:
  Hops(Driver& driver, const Machine& machine, const Settings& settings);
  /// Waits for everything queued on its streams, then gives everything back.
  ~Hops();

  /// Created when first asked for; errors of the driver pass through and leave nothing behind.
  QueueStream& stream(const Queue& queue);
  StagingRing& ring(const RingUse& use);
  StagingRing& ring(const Program& program, const Ring& ring) {
    return this->ring(use_of(program, ring));
  }

  /// The parts that a path needs and that are not there, none of them made yet: all null.
  [[nodiscard]] HopParts missing(const Path& path) const;
  /// Makes the null ones. Touches nothing else of this object, so that it needs no guard.
  void make(HopParts& parts) const;
  /// Takes them over; parts that were installed here meanwhile stay.
  void install(HopParts parts);
  /// Blocks until everything queued for the transfer has finished, on the caller's stream and its
  /// queues'; marks as lost the rings of what it cannot wait for, and returns false if there is
  /// any.
  [[nodiscard]] bool settle(const Transfer& transfer) noexcept;
  /// Marks all rings as lost: something that uses them may be queued and cannot be waited for.
  void lose_rings() noexcept;
  /// True if nothing that uses the rings is queued or runs.
  [[nodiscard]] bool is_idle() const;

 private:
  [[nodiscard]] RingUse use_of(const Path& path) const;
  [[nodiscard]] RingUse use_of(const Program& program, const Ring& ring) const;
  [[nodiscard]] RingUse use_of(HopId filled_over, PlaceId reader) const;
  [[nodiscard]] std::unique_ptr<StagingRing> make_ring(const RingUse& use) const;
  [[nodiscard]] bool wait_for(const Program& program, int queue) noexcept;
  [[nodiscard]] bool wait_for(StreamHandle stream) noexcept;

  Driver& driver_;
  const Machine& machine_;
  Bytes slot_bytes_;
  int slots_;
  HopParts parts_;
};

}  // namespace polypath::engine
