#pragma once
// Which of the program's memory copies over several paths may still use.
//
// The driver's own frees wait for copies of the memory's own context. They do not wait for what
// another GPU does for one: memory that was freed too early ended the program with CUDA error 719
// (H100, driver 580, results/h100x2/frees.json). A free waits for the copies of that memory and for
// no others: those may be behind work that waits for the program.
//
// Cost: an event per copy, and nothing where nothing is freed.

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "core/brief_mutex.h"
#include "driver/driver.h"
#include "engine/execute/events.h"

namespace polypath::preload {

/// Thread-safe.
class QueuedMemory {
 public:
  /// Pieces of memory that are kept apart; of more than these all memory counts as used.
  static constexpr std::size_t kMost = 1024;

  /// A copy that has been enqueued, up to its end in the program's stream.
  struct Copy {
    explicit Copy(EventPool& pool) : events(pool) {}
    EventPool::Lease events;
    EventHandle end;
    StreamHandle stream;
  };
  using CopyPointer = std::shared_ptr<Copy>;

  explicit QueuedMemory(Driver& driver) : driver_(driver), spare_(driver) {}

  /// The work just put into the stream of `gpu` uses these. Errors of the driver.
  void note(const std::vector<MemoryInfo>& memories, StreamHandle stream, PlaceId gpu);
  /// True if a copy of the memory that contains `address` may not be over.
  [[nodiscard]] bool may_be_used(Address address) const;
  /// Blocks until none uses it any more.
  void wait_for(Address address) noexcept;

 private:
  /// The last copy in each stream.
  struct Used {
    Bytes size;
    std::vector<CopyPointer> copies;
  };

  void add(const MemoryInfo& memory, const CopyPointer& copy);
  static void put(std::vector<CopyPointer>& copies, const CopyPointer& copy);
  [[nodiscard]] std::vector<CopyPointer> copies_of(Address address) const;
  void forget_finished();
  void forget(const std::vector<CopyPointer>& over);
  [[nodiscard]] bool is_over(const CopyPointer& copy) const noexcept;

  Driver& driver_;
  EventPool spare_;
  std::atomic<bool> any_{false};
  mutable BriefMutex mutex_;
  std::map<Address, Used> by_base_;
  std::vector<CopyPointer> of_all_;  ///< of memory for which there was no room, or of no known end
};

}  // namespace polypath::preload
