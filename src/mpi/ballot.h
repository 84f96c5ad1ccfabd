#pragma once
// The ranks of a communicator of several nodes agree, call by call, whether it is ours: by MPI's
// own reduction of one number on the program's communicator, which all ranks begin at the same
// place in the order of its calls.
//
//   asking  each rank votes in each call. A rank with memory of the host does not wait for the
//           result: its call is MPI's in any case. The others wait, and find the same.
//   quiet   no rank votes, and all calls are MPI's.
//
// A poll decides which of the two it is until the next one, 256 calls later at most: asking, if all
// ranks have passed memory of GPUs since the last poll. All wait for it. So programs whose calls
// are on memory of the host pay for the first calls, and then for one reduction in 256 calls.
//
// Where calls must not wait, a poll holds from the next one on: its result is there by then, unless
// ranks are as many calls apart.

#include <cstdint>
#include <functional>
#include <list>

#include "mpi/announcements.h"
#include "mpi/library.h"

namespace polypath::mpi {

/// One rank's. Calls of a communicator are made by one thread at a time.
class Ballot {
 public:
  enum class Verdict { ours, mpis, quiet };
  /// From which one on a poll holds.
  enum class Polls { at_once, from_the_next_on };

  /// The library must outlive it, and the communicator too.
  Ballot(const Library& library, Handle comm, Polls polls = Polls::at_once)
      : library_(library), comm_(comm), polls_(polls) {}
  Ballot(const Ballot&) = delete;
  Ballot& operator=(const Ballot&) = delete;
  /// Votes that are not over are abandoned: is_waiting() says whether there are any.
  ~Ballot();

  /// A call with memory of the host, and quick; false if decide() has to be asked.
  bool pass_host() {
    if (is_asking_ || next_ == poll_) return false;
    ++next_;
    return true;
  }
  /// A call that is MPI's in any case, with memory of the host or a GPU's, and must not wait; false
  /// if decide() has to be asked: a poll is not over.
  [[nodiscard]] bool pass_at_once(Buffers mine);
  /// The next call. While other ranks are waited for, `wait` is called.
  [[nodiscard]] Verdict decide(Buffers mine, const std::function<void()>& wait);
  /// Whether all ranks say so, which all ask at the same place; waits for them.
  [[nodiscard]] bool all_say(bool mine, const std::function<void()>& wait);
  /// True while a vote of this rank's is not over. Calls MPI.
  [[nodiscard]] bool is_waiting();
  /// After an error other ranks may never vote: nothing waits for these votes any more. Calls MPI.
  void abandon();

 private:
  struct Vote {
    int mine = 0, least = 0;
    Handle request = 0;
    bool is_over = false;
  };

  void poll(const std::function<void()>& wait);
  void begin_poll();
  /// Counts the call.
  void note(Buffers mine);
  Vote& begin(bool mine);
  [[nodiscard]] bool is_over(Vote& vote) const;

  const Library& library_;
  Handle comm_;
  Polls polls_;
  std::uint64_t next_ = 0, poll_ = 8;
  bool is_asking_ = true;
  bool has_passed_ = false;  ///< memory of GPUs since the last poll
  std::list<Vote> votes_;    ///< not known to be over, the oldest first
  std::list<Vote> polled_;   ///< one, if a poll is to hold from the next one on
};

}  // namespace polypath::mpi
