#pragma once
// Which of the program's memory copies over several paths may still use.
//
// The driver's own frees wait for copies of the memory's own context. They do not wait for what
// another GPU does for one: memory that was freed too early ended the program with CUDA error 719
// (H100, driver 580, results/h100x2/frees.json).
//
// What that costs: an entry per piece of memory, and nothing where nothing is freed.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "driver/driver.h"

namespace polypath::preload {

/// Thread-safe.
class QueuedMemory {
 public:
  /// Pieces of memory that are kept apart; of more than these all memory counts as used.
  static constexpr std::size_t kMost = 1024;

  /// A copy of it has been enqueued.
  void note(const MemoryInfo& memory);
  /// True if a copy of the memory that contains `address` may not be over.
  [[nodiscard]] bool may_be_used(Address address) const;
  /// Stands for all copies noted so far: see forget.
  [[nodiscard]] std::uint64_t now() const { return notes_.load(std::memory_order_acquire); }
  /// Those that were noted until then are over.
  void forget(std::uint64_t until);

 private:
  struct Noted {
    Bytes size;
    std::uint64_t number;  ///< of the last note
  };

  std::atomic<std::uint64_t> notes_{0};
  mutable std::mutex mutex_;
  std::map<Address, Noted> by_base_;
  std::uint64_t all_used_ = 0;  ///< number of the last note for which there was no room
};

}  // namespace polypath::preload
