#pragma once
// Non-blocking calls of communicators of several nodes.
//
//   MPI's in any case, and none before it is queued: begun in MPI at once, with a vote against it
//   else queued, and made by a thread (aside.h)
//
// So a program with memory of the host has its calls begun as MPI begins them.

#include <atomic>
#include <memory>

#include "mpi/aside.h"
#include "mpi/blocking_calls.h"
#include "mpi/nonblocking.h"

namespace polypath::mpi {

/// Thread-safe as far as MPI is.
class CallsAside {
 public:
  /// All must outlive it.
  CallsAside(const Library& library, Turns& turns, BlockingCalls& blocking,
             NonblockingCalls& nonblocking)
      : library_(library), turns_(turns), blocking_(blocking), nonblocking_(nonblocking) {}

  /// A call of the aside's communicator. `request` is where the program wants its request.
  Result begin(Aside& aside, Call call, RealStart start, void* request);
  /// True while a call is queued or being made.
  [[nodiscard]] bool any() const { return count_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Queued;

  void make(Queued& call);
  [[nodiscard]] Result make_in_mpi(const Queued& call, const void* send, void* receive) const;

  const Library& library_;
  Turns& turns_;
  BlockingCalls& blocking_;
  NonblockingCalls& nonblocking_;
  std::atomic<int> count_ = 0;
};

}  // namespace polypath::mpi
