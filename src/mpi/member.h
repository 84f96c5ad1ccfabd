#pragma once
// One rank of a communicator whose calls may be ours.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mpi/announcements.h"
#include "mpi/member_work.h"
#include "mpi/memory.h"
#include "mpi/steps.h"

namespace polypath::mpi {

/// can_run() and enqueue() are called by one thread at a time; all else is thread-safe.
class Member {
 public:
  /// `arena` and `streams` must outlive it.
  Member(const Library& library, MemberPlace place, Arena& arena, CallStreams& streams,
         Invitation invitation);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// Waits for queued work, and ends this rank.
  ~Member();

  [[nodiscard]] Announcements& announcements() { return announcements_; }
  [[nodiscard]] Seat seat() const { return place_.seat; }
  /// Null if all ranks are on one node.
  [[nodiscard]] InternodeMember* internode() const { return place_.internode.get(); }
  /// Whether memory of this GPU can be in calls of ours.
  [[nodiscard]] bool is_at(int gpu) const { return gpu_ < 0 || gpu_ == gpu; }
  /// True once none of its calls can be ours any more; then why.
  [[nodiscard]] bool is_out() const { return is_out_; }
  [[nodiscard]] std::string why_not() const { return is_out_ ? why_not_ : std::string(); }

  /// An event, to be given back, behind what the program has put into its default stream; none
  /// before the first call.
  [[nodiscard]] std::optional<EventHandle> mark_default_stream();
  /// Before a call of ranks of several nodes, for which can_run() is too late: this calls MPI. They
  /// join before the first one. `wait` is called while others are waited for.
  void join_nodes(const Call& call, int gpu, const Open& open, const Wait& wait);
  /// After that: as CallNumbers::tell() with the call's counts.
  Count tell_nodes(const Call& call, Count number, const Wait& wait);
  /// Whether calls of ours can be made here, which all ranks find alike; the first time they join.
  /// `gpu` has the memory of this call; negative: this rank has none in it.
  bool can_run(const Call& call, int gpu, const Open& open);
  /// Enqueues a call that all ranks have agreed on, behind the mark. Returns an event, to be given
  /// back, behind it. Errors: as Collectives::run().
  [[nodiscard]] EventHandle enqueue(const Call& call, std::optional<EventHandle> mark);
  [[nodiscard]] bool is_done(EventHandle event) const;
  /// Waits; calls MPI for ranks of several nodes. Errors: those of the driver, and of other ranks.
  void await(EventHandle event) const;
  void give_back(EventHandle event) noexcept;
  /// Errors: those of other ranks.
  void check() const;
  /// This rank cannot go on: its calls and those of all others end in an error that says why.
  void abort(const std::string& why) noexcept;

 private:
  void join(const Call& call, int gpu, const Open& open);
  std::string try_to_make(const Call& call, const Open& open);
  void leave() noexcept;
  [[nodiscard]] std::string why_others_cannot() const;
  void go_on_together(bool all_have_joined, int gpu, const std::string& problem);
  void take_steps(const Call& call);
  [[nodiscard]] PersistentCall* repeated(const Call& call);
  void copy(const LocalCopy& copy);
  [[nodiscard]] std::vector<Count> exchange(const std::vector<Count>& mine);

  const Library& library_;
  MemberPlace place_;
  Arena& arena_;
  CallStreams& streams_;
  Invitation invitation_;
  Announcements announcements_;
  std::atomic<int> gpu_ = -1;  ///< that has the memory of calls; negative: not known yet
  std::unique_ptr<MemberWork> owned_;
  std::atomic<MemberWork*> working_ = nullptr;  ///< null until all have joined
  std::string why_not_;
  std::atomic<bool> is_out_ = false;  ///< and the text is there
};

}  // namespace polypath::mpi
