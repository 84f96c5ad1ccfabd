#pragma once
// A lock in memory that the ranks of a window share: for one rank alone, or for several together.

#include <atomic>
#include <cstdint>

namespace polypath::mpi {

/// Nothing here waits. Zeros are a lock that no rank holds; ranks are less than 32.
class RankLock {
 public:
  enum class Mode : std::uint8_t { shared, exclusive };

  /// False: another rank has it, or another thread of this one.
  [[nodiscard]] bool try_lock(int rank, Mode mode) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    const std::uint64_t wanted = mode == Mode::shared ? seen | reader(rank) : owner(rank);
    const bool is_free = mode == Mode::shared ? seen < kOwner && seen != wanted : seen == 0;
    return is_free && word_.compare_exchange_strong(seen, wanted, std::memory_order_acquire);
  }
  void unlock(int rank) {
    const std::uint64_t bits =
        word_.load(std::memory_order_relaxed) >= kOwner ? owner(rank) : reader(rank);
    word_.fetch_and(~bits, std::memory_order_release);
  }
  /// A bit for each rank that has it.
  [[nodiscard]] std::uint32_t holders() const {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return static_cast<std::uint32_t>(seen >= kOwner ? seen / kOwner : seen);
  }

 private:
  static constexpr std::uint64_t kOwner = std::uint64_t{1} << 32;
  static std::uint64_t reader(int rank) { return std::uint64_t{1} << rank; }
  static std::uint64_t owner(int rank) { return kOwner << rank; }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace polypath::mpi
