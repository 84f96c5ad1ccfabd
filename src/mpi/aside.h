#pragma once
// Where calls of a communicator of several nodes are made that do not block: by a thread, on a
// communicator of their own.
//
//   the program's call ─▶ queued ─▶ the thread makes it as a program makes a call that blocks
//                                     ─▶ its request is completed
//
// A call of ours goes on only where its messages are seen to. The program may wait for its GPU
// meanwhile, or in any function of MPI's, until the call is over: so it cannot be the program, and
// MPI must take calls of several threads.
//
// Ranks find at different times whether a call is ours. On a communicator that has nothing but
// these calls, in their order, no other call of MPI's comes before one at some ranks and behind it
// at others.

#include <atomic>
#include <memory>

#include "core/background.h"
#include "mpi/member.h"

namespace polypath::mpi {

/// The program's calls on a communicator are made by one thread at a time.
class Aside {
 public:
  /// `comm` has the ranks of the program's communicator, and is this object's. `member` is its.
  Aside(const Library& library, Handle comm, std::unique_ptr<Member> member);
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  /// MPI is about to end, or is_idle(): calls that are not over end in errors.
  ~Aside();

  [[nodiscard]] Handle comm() const { return comm_; }
  [[nodiscard]] Member& member() const { return *member_; }
  /// A call that is queued or being made.
  class Guest {
   public:
    explicit Guest(Aside& aside) : aside_(aside) { ++aside.guests_; }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    ~Guest() { --aside_.guests_; }

   private:
    Aside& aside_;
  };
  /// True if there is none: the program's thread may use communicator and member.
  [[nodiscard]] bool is_idle() const { return guests_ == 0; }
  /// The task is done after those before it, or dropped in the end. Must not throw.
  void post(Background::Task task) { thread_.post(std::move(task)); }
  /// True if no call is to wait any more.
  [[nodiscard]] bool is_ending() const { return is_ending_; }
  /// The program frees its communicator, at all ranks, and this is_idle(). Calls MPI.
  void free() noexcept;

 private:
  const Library& library_;
  Handle comm_;
  std::unique_ptr<Member> member_;
  std::atomic<int> guests_ = 0;
  std::atomic<bool> is_ending_ = false;
  Background thread_{Background::Priority::normal};
};

}  // namespace polypath::mpi
