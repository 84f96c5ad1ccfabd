#pragma once
// One rank of a communicator whose calls may be ours.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "mpi/announcements.h"
#include "mpi/memory.h"
#include "mpi/scratch.h"
#include "mpi/steps.h"

namespace polypath::mpi {

/// What all ranks of a communicator are told by its rank 0.
struct Invitation {
  std::int64_t block = -1;   ///< of the arena; negative: there is none
  std::uint64_t number = 0;  ///< of the communicator, never given twice
};

/// Not thread-safe: MPI allows one collective call of a communicator at a time.
class Member {
 public:
  /// `arena` must outlive it.
  Member(const Library& library, Handle comm, Seat seat, Arena& arena, Invitation invitation);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// Waits for queued work, and ends this rank.
  ~Member();

  /// Says what this rank passes in its next call, and returns its number. While other ranks are far
  /// behind, `wait` is called.
  std::uint64_t announce(Buffers buffers, const std::function<void()>& wait) {
    return announcements_.announce(buffers, wait);
  }
  /// Whether the call of that number is ours, which all ranks find alike; none as long as that is
  /// not known.
  [[nodiscard]] std::optional<bool> is_ours(std::uint64_t call) const {
    return announcements_.is_ours_at_all(call);
  }
  /// Whether memory of this GPU can be in calls of ours.
  [[nodiscard]] bool is_at(int gpu) const { return gpu_ < 0 || gpu_ == gpu; }
  /// Why none of its calls can be ours any more; empty if they can.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// Makes a call that all ranks have agreed on, and waits for it. `gpu` has its memory; negative:
  /// it has none. False: ours cannot be made here, which all ranks find alike. Errors: as
  /// NodeCollectives::run(), and those of other ranks.
  bool run(const Call& call, int gpu, const Open& open);
  /// This rank cannot go on: its calls and those of all others end in an error that says why.
  void abort(const std::string& why) noexcept;

 private:
  struct Working {
    Working(const Surroundings& around, PlaceId place, std::unique_ptr<NodeCollectives> made);
    ~Working();
    Driver& driver;
    PlaceId gpu;
    std::unique_ptr<NodeCollectives> ranks;
    void begin();
    StreamHandle stream, before;
    EventHandle begun;
    Scratch scratch;
    std::unordered_map<std::string, PersistentCall> repeated;
  };

  void join(const Call& call, int gpu, const Open& open);
  [[nodiscard]] std::unique_ptr<NodeCollectives> make(PlaceId gpu, const Surroundings& around);
  [[nodiscard]] PlaceId place_of(const Call& call, const Surroundings& around) const;
  void take_steps(const Call& call);
  [[nodiscard]] PersistentCall* repeated(const Call& call);
  void copy(const LocalCopy& copy);
  [[nodiscard]] std::vector<Count> exchange(const std::vector<Count>& mine) const;

  const Library& library_;
  Handle comm_;
  Seat seat_;
  Arena& arena_;
  Invitation invitation_;
  Announcements announcements_;
  int gpu_ = -1;  ///< that has the memory of calls; negative: not known yet
  std::unique_ptr<Working> working_;
  std::string why_not_;
};

}  // namespace polypath::mpi
