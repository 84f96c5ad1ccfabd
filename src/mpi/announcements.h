#pragma once
// The ranks of a communicator agree, call by call, whether it is ours, and when its turn is.
//
// Each rank announces the memory that it passes. A call is ours if all announce that it is. A rank
// with memory of the host never waits: its call is MPI's in any case. The others wait until all
// have announced the call, so they find the same; in a collective call they may.
//
// A call that is ours gets a **turn**, a number that no other call of any communicator has. Ranks
// begin their calls in the order of the turns (turns.h). It is given when all have announced the
// call, by any rank that finds this out; the others find what is there.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/abi.h"
#include "mpi/arena.h"

namespace polypath::mpi {

/// The memory that a rank passes.
enum class Buffers : std::uint8_t {
  host,    ///< MPI takes it as it is
  device,  ///< a GPU's, in a call that we do not have
  ours,    ///< a GPU's, in a call that we have
  none     ///< this rank passes none
};

/// True if the rank has to hear what others announce.
constexpr bool is_asked(Buffers buffers) {
  return buffers == Buffers::ours || buffers == Buffers::none;
}

/// One rank's view. Thread-safe, but for exchange(); calls are announced by one thread at a time.
class Announcements {
 public:
  Announcements(const Arena& arena, ArenaBlock& block, int rank, int size)
      : arena_(arena), block_(&block), rank_(rank), size_(size) {}

  /// Before a call is announced: while other ranks are far behind, `wait` is called.
  void make_room(const std::function<void()>& wait) const;
  /// The next call, whose number it returns. One that is_asked() is to be decided.
  std::uint64_t announce(Buffers buffers);
  /// The same for memory of the host, and quick; false if that has to be done by both functions.
  bool announce_host();

  /// Whether all ranks announce such a call as ours, and at least one of them has memory in it;
  /// none as long as that is not known.
  [[nodiscard]] std::optional<bool> is_ours_at_all(std::uint64_t call) const;
  /// The turn of a call that is ours.
  [[nodiscard]] std::uint64_t turn_of(std::uint64_t call);
  /// This rank has heard all of that call.
  void note_decided(std::uint64_t call);

  /// This rank can make calls of ours, or it cannot.
  void note_joined(bool can);
  /// Whether all ranks can; none as long as that is not known.
  [[nodiscard]] std::optional<bool> have_joined() const;
  /// Whether a rank has said that it cannot, also before all have said something.
  [[nodiscard]] bool has_one_failed() const;

  /// What all ranks say, one rank's numbers after another's; each says equally many, at most
  /// kMostRanks. While others are not there, `wait` is called.
  [[nodiscard]] std::vector<Count> exchange(const std::vector<Count>& mine,
                                            const std::function<void()>& wait);

 private:
  [[nodiscard]] AnnouncedCalls& of(int rank) const {
    return block_->ranks[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Buffers announced(int rank, std::uint64_t call) const {
    return static_cast<Buffers>(
        of(rank).buffers[call % AnnouncedCalls::kRemembered].load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint64_t slowest() const;
  void tell(std::uint64_t call, Buffers buffers);
  void note_needed();

  const Arena& arena_;
  ArenaBlock* block_;
  int rank_, size_;
  std::uint64_t next_ = 0, exchanges_ = 0;
  std::mutex mutex_;  ///< guards the members below, but for asking whether there are any
  std::deque<std::uint64_t> undecided_;
  std::atomic<std::size_t> to_decide_ = 0;  ///< how many there are
};

}  // namespace polypath::mpi
