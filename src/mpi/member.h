#pragma once
// One rank of a communicator whose calls may be ours.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/rank/node_collectives.h"
#include "mpi/announcements.h"
#include "mpi/call_streams.h"
#include "mpi/memory.h"
#include "mpi/scratch.h"
#include "mpi/steps.h"

namespace polypath::mpi {

/// What all ranks of a communicator are told by its rank 0.
struct Invitation {
  std::int64_t block = -1;   ///< of the arena; negative: there is none
  std::uint64_t number = 0;  ///< of the communicator, never given twice
};

/// can_run() and enqueue() are called by one thread at a time; all else is thread-safe.
class Member {
 public:
  /// `arena` and `streams` must outlive it.
  Member(const Library& library, Seat seat, Arena& arena, CallStreams& streams,
         Invitation invitation);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// Waits for queued work, and ends this rank.
  ~Member();

  [[nodiscard]] Announcements& announcements() { return announcements_; }
  [[nodiscard]] Seat seat() const { return seat_; }
  /// Whether memory of this GPU can be in calls of ours.
  [[nodiscard]] bool is_at(int gpu) const { return gpu_ < 0 || gpu_ == gpu; }
  /// True once none of its calls can be ours any more; then why.
  [[nodiscard]] bool is_out() const { return is_out_; }
  [[nodiscard]] std::string why_not() const { return is_out_ ? why_not_ : std::string(); }

  /// An event, to be given back, behind what the program has put into its default stream; none
  /// before the first call.
  [[nodiscard]] std::optional<EventHandle> mark_default_stream();
  /// Whether calls of ours can be made here, which all ranks find alike; the first time they join.
  /// `gpu` has the memory of this call; negative: this rank has none in it.
  bool can_run(const Call& call, int gpu, const Open& open);
  /// Enqueues a call that all ranks have agreed on, behind the mark. Returns an event, to be given
  /// back, behind it. Errors: as NodeCollectives::run().
  [[nodiscard]] EventHandle enqueue(const Call& call, std::optional<EventHandle> mark);
  [[nodiscard]] bool is_done(EventHandle event) const;
  /// Waits. Errors: those of the driver, and of other ranks.
  void await(EventHandle event) const;
  void give_back(EventHandle event) noexcept;
  /// Errors: those of other ranks.
  void check() const;
  /// This rank cannot go on: its calls and those of all others end in an error that says why.
  void abort(const std::string& why) noexcept;

 private:
  struct Working {
    Working(const Surroundings& around, PlaceId place, StreamHandle in,
            std::unique_ptr<NodeCollectives> made);
    ~Working();
    [[nodiscard]] EventHandle event();  ///< recorded by the caller

    Driver& driver;
    PlaceId gpu;
    std::unique_ptr<NodeCollectives> ranks;
    StreamHandle stream, before;
    Scratch scratch;
    std::unordered_map<std::string, PersistentCall> repeated;
    std::mutex mutex;  ///< guards the member below
    std::vector<EventHandle> free_events;
  };

  void join(const Call& call, int gpu, const Open& open);
  [[nodiscard]] std::unique_ptr<Working> make(const Call& call, const Open& open);
  [[nodiscard]] PlaceId place_of(const Call& call, const Surroundings& around) const;
  void take_steps(const Call& call);
  [[nodiscard]] PersistentCall* repeated(const Call& call);
  void copy(const LocalCopy& copy);
  [[nodiscard]] std::vector<Count> exchange(const std::vector<Count>& mine);

  const Library& library_;
  Seat seat_;
  Arena& arena_;
  CallStreams& streams_;
  Invitation invitation_;
  Announcements announcements_;
  std::atomic<int> gpu_ = -1;  ///< that has the memory of calls; negative: not known yet
  std::unique_ptr<Working> owned_;
  std::atomic<Working*> working_ = nullptr;  ///< null until all have joined
  std::string why_not_;
  std::atomic<bool> is_out_ = false;  ///< and the text is there
};

}  // namespace polypath::mpi
