#pragma once
// What the ranks of a window share in memory of the host: the parts on GPUs that each has put into
// it, and the locks of each.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "core/process_identity.h"
#include "core/shared_pages.h"
#include "core/versioned.h"
#include "driver/driver.h"
#include "mpi/arena.h"
#include "mpi/rank_lock.h"

namespace polypath::mpi {

/// Memory of a GPU in a window, as other ranks open it.
struct WindowPart {
  static constexpr std::size_t kMostBytes = 256;

  std::uintptr_t begin = 0;  ///< in its rank
  std::uint64_t bytes = 0;
  std::uint64_t gpus = 0;     ///< a hash of those that its rank sees
  std::uint64_t edition = 0;  ///< no other part of the rank has it; 0: there is none here
  std::uint64_t exported_bytes = 0;
  std::array<std::byte, kMostBytes> exported{};

  [[nodiscard]] bool has(Address address, std::uint64_t size) const {
    return address.value >= begin && address.value - begin <= bytes &&
           size <= bytes - (address.value - begin);
  }
};

/// One rank's view. Thread-safe, but for publish() and withdraw().
class WindowBoard {
 public:
  /// Errors as SharedPages has them. The first rank makes it, the others open it.
  WindowBoard(std::unique_ptr<SharedPages> pages, int rank);
  static Bytes bytes();

  [[nodiscard]] const SharedPages::Name& name() const { return pages_->name(); }
  /// Error (out_of_memory) if this rank has too many parts.
  void publish(WindowPart part, const ExportedMemory& exported);
  /// The part that begins there; false if there is none.
  bool withdraw(Address begin);
  /// The part of a rank that contains these bytes.
  [[nodiscard]] std::optional<WindowPart> part(int rank, Address address, std::uint64_t size) const;

  /// The lock of MPI_Win_lock, and the one that makes accumulating atomic.
  [[nodiscard]] RankLock& passive(int target) const { return of(target).passive; }
  [[nodiscard]] RankLock& atomic(int target) const { return of(target).atomic; }
  /// While another rank has it, `wait` is called. Error (communicator) if that rank has ended.
  void lock(RankLock& lock, RankLock::Mode mode, const std::function<void()>& wait) const;

 private:
  static constexpr std::size_t kMostParts = 32;
  using Slot = Versioned<WindowPart>;
  struct alignas(64) OfRank {
    RankLock passive, atomic;
    ProcessIdentity process;
    std::array<Slot, kMostParts> slots{};
  };
  using Layout = std::array<OfRank, kMostRanks>;

  [[nodiscard]] OfRank& of(int rank) const {
    return (*static_cast<Layout*>(pages_->begin()))[static_cast<std::size_t>(rank)];
  }
  void require_alive(std::uint32_t holders) const;

  std::unique_ptr<SharedPages> pages_;
  int rank_;
  std::uint64_t editions_ = 0;
};

/// Gives an exclusive lock back at the end of a block.
class HeldLock {
 public:
  HeldLock(RankLock& lock, int rank) : lock_(lock), rank_(rank) {}
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  ~HeldLock() { lock_.unlock(rank_); }

 private:
  RankLock& lock_;
  int rank_;
};

}  // namespace polypath::mpi
