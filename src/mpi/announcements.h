#pragma once
// The ranks of a communicator agree, call by call, whether it is ours.
//
// Each rank announces the memory that it passes. A call is ours if all announce that it is. A rank
// with memory of the host never waits: its call is MPI's in any case. The others wait until all
// have announced the call, so they find the same; in a collective call they may.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mpi/arena.h"

namespace polypath::mpi {

/// The memory that a rank passes.
enum class Buffers : std::uint8_t {
  host,    ///< MPI takes it as it is
  device,  ///< a GPU's, in a call that we do not have
  ours,    ///< a GPU's, in a call that we have
  none     ///< this rank passes none
};

/// One rank's view. Not thread-safe.
class Announcements {
 public:
  Announcements(ArenaBlock& block, int rank, int size) : block_(&block), rank_(rank), size_(size) {}

  /// The next call, whose number it returns. While other ranks are far behind, `wait` is called.
  template <class Wait>
  std::uint64_t announce(Buffers buffers, const Wait& wait) {
    const std::uint64_t call = next_++;
    if (call % kChecked == 0)
      while (call + kChecked >= slowest() + AnnouncedCalls::kRemembered) wait();
    AnnouncedCalls& own = of(rank_);
    own.buffers[call % AnnouncedCalls::kRemembered].store(static_cast<std::uint8_t>(buffers),
                                                          std::memory_order_relaxed);
    own.number.store(call + 1, std::memory_order_release);
    return call;
  }

  /// Whether all ranks announce such a call as ours, and at least one of them has memory in it;
  /// none as long as that is not known.
  [[nodiscard]] std::optional<bool> is_ours_at_all(std::uint64_t call) const {
    bool any = false;
    for (int rank = 0; rank < size_; ++rank) {
      if (of(rank).number.load(std::memory_order_acquire) <= call) return std::nullopt;
      switch (announced(rank, call)) {
        case Buffers::host:
        case Buffers::device: return false;
        case Buffers::ours: any = true; break;
        case Buffers::none: break;
      }
    }
    return any;
  }

  /// This rank can make calls of ours, or it cannot.
  void note_joined(bool can) {
    of(rank_).joined.store(can ? AnnouncedCalls::Joined::joined : AnnouncedCalls::Joined::failed,
                           std::memory_order_release);
  }
  /// Whether all ranks can; none as long as that is not known.
  [[nodiscard]] std::optional<bool> have_joined() const {
    bool all = true;
    for (int rank = 0; rank < size_; ++rank) {
      const auto joined = of(rank).joined.load(std::memory_order_acquire);
      if (joined == AnnouncedCalls::Joined::not_yet) return std::nullopt;
      all = all && joined == AnnouncedCalls::Joined::joined;
    }
    return all;
  }

 private:
  static constexpr std::uint64_t kChecked = 64;  ///< calls between looks at the slowest rank

  [[nodiscard]] AnnouncedCalls& of(int rank) const {
    return block_->ranks[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Buffers announced(int rank, std::uint64_t call) const {
    return static_cast<Buffers>(
        of(rank).buffers[call % AnnouncedCalls::kRemembered].load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint64_t slowest() const {
    std::uint64_t least = next_;
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_) least = std::min(least, of(rank).number.load(std::memory_order_acquire));
    return least;
  }

  ArenaBlock* block_;
  int rank_, size_;
  std::uint64_t next_ = 0;
};

}  // namespace polypath::mpi
