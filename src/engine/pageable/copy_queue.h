#pragma once
// Copies of ordinary memory that threads share, piece by piece.
//
// Nothing here takes a lock: sixteen threads that take a piece every 45 us each wait for one longer
// than they copy.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/units.h"
#include "driver/driver.h"

namespace polypath::engine {

/// Where a copy's bytes lie afterwards: see copy_past_caches().
enum class Stores { in_caches, past_caches };

/// One copy of ordinary memory, of at least one byte.
struct MemoryCopy {
  Address destination;
  Address source;
  Bytes bytes;
  Stores stores = Stores::in_caches;
};

/// Thread-safe, but for add().
class CopyQueue {
 public:
  /// Numbers the copies, in the order in which they were added.
  using Ticket = std::uint64_t;
  struct Piece {
    Ticket ticket;
    MemoryCopy copy;
  };
  /// Copies that are not done, at most.
  static constexpr std::size_t kMost = 128;

  CopyQueue() = default;
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;

  /// Adds a copy, to be taken in pieces of `piece` bytes. None if too many are not done. One thread
  /// at a time.
  std::optional<Ticket> add(const MemoryCopy& copy, Bytes piece);
  /// The next piece of the oldest copy that has any left; none if no copy has.
  std::optional<Piece> take();
  /// The caller has copied a piece that it took.
  void note_done(const Piece& piece);

  /// True if all bytes of the copy are there, for the calling thread to see.
  [[nodiscard]] bool is_done(Ticket ticket) const;
  [[nodiscard]] bool is_all_done() const;
  /// True if take() would return a piece.
  [[nodiscard]] bool has_untaken() const;

 private:
  struct Slot {
    // These are written by add() alone, while no piece is taken or could be.
    MemoryCopy copy;
    Bytes piece;
    std::uint32_t pieces = 0;
    /// The ticket's last 32 bits, and then the pieces that are not taken.
    std::atomic<std::uint64_t> untaken{0};
    std::atomic<std::uint32_t> undone{0};  ///< pieces
  };

  [[nodiscard]] const Slot& slot(Ticket ticket) const { return slots_[ticket % kMost]; }
  [[nodiscard]] Slot& slot(Ticket ticket) { return slots_[ticket % kMost]; }
  std::optional<Piece> take_of(Ticket ticket);

  std::array<Slot, kMost> slots_;
  std::atomic<Ticket> added_{0};   ///< the next copy's
  std::atomic<Ticket> oldest_{0};  ///< all copies before it have been taken
};

}  // namespace polypath::engine
