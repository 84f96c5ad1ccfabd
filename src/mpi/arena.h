#pragma once
// Memory of the host that the ranks of a job share, divided into one block for each communicator.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/shared_pages.h"

namespace polypath::mpi {

/// Communicators of more ranks have no block: no collective of ours has so many on a node.
inline constexpr int kMostRanks = 16;

/// A rank's calls as all other ranks see them.
struct alignas(64) AnnouncedCalls {
  static constexpr std::uint64_t kRemembered = 1024;

  enum class Joined : std::uint8_t { not_yet, joined, failed };

  std::atomic<std::uint64_t> number{0};
  /// The first call of which this rank has still to hear the others.
  std::atomic<std::uint64_t> needed{0};
  std::atomic<Joined> joined{Joined::not_yet};  ///< to make calls of ours
  std::array<std::atomic<std::uint8_t>, kRemembered> buffers{};
};

/// Numbers that a rank tells all others, again and again.
struct alignas(64) ExchangedNumbers {
  std::atomic<std::uint64_t> times{0};
  std::array<std::array<std::int64_t, kMostRanks>, 2> numbers{};  ///< in turn
};

/// Of one communicator.
struct ArenaBlock {
  std::array<AnnouncedCalls, kMostRanks> ranks{};
  std::array<ExchangedNumbers, kMostRanks> exchanged{};
  /// The calls' turns (announcements.h).
  std::array<std::atomic<std::uint64_t>, AnnouncedCalls::kRemembered> turns{};
  std::atomic<int> left{0};  ///< ranks that have freed the communicator

  void clear();
};

/// This process's view. Thread-safe; processes may use it at the same time.
class Arena {
 public:
  /// Errors as SharedPages has them.
  static Arena make();
  static Arena open(const SharedPages::Name& name);

  [[nodiscard]] const SharedPages::Name& name() const { return pages_->name(); }
  /// The number of a block of zeros; negative if all are taken.
  int take();
  [[nodiscard]] ArenaBlock& block(int number) const;
  /// A turn that no call has had, later than all before it.
  [[nodiscard]] std::uint64_t next_turn() const { return layout().turns.fetch_add(1) + 1; }
  /// Every rank of a communicator calls it once; the last one gives the block back.
  void leave(int number, int ranks);

 private:
  static constexpr int kWords = 8, kBlocks = kWords * 64;
  struct Layout {
    std::array<std::atomic<std::uint64_t>, kWords> taken{};
    std::atomic<std::uint64_t> turns{0};
    std::array<ArenaBlock, kBlocks> blocks{};
  };
  explicit Arena(std::unique_ptr<SharedPages> pages) : pages_(std::move(pages)) {}
  [[nodiscard]] Layout& layout() const { return *static_cast<Layout*>(pages_->begin()); }

  std::unique_ptr<SharedPages> pages_;
};

}  // namespace polypath::mpi
