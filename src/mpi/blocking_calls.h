#pragma once
// A collective call, made while a thread waits for it.
//
//   what does this rank pass? ─▶ what do the others? ─▶ all of them memory of GPUs, in a call that
//   we have: OwnCall           ─▶ else MPI's, with copies in the host

#include <memory>
#include <optional>

#include "mpi/call_order.h"
#include "mpi/counts.h"
#include "mpi/own_call.h"
#include "mpi/staging.h"
#include "mpi/wait.h"

namespace polypath::mpi {

/// MPI's own call, with memory of the caller's choice. The function must outlive it.
class RealCall {
 public:
  template <class Function>
  RealCall(const Function& function)  // NOLINT(google-explicit-constructor): for lambdas
      : function_(&function), call_([](const void* what, const void* send, void* receive) {
          return (*static_cast<const Function*>(what))(send, receive);
        }) {}
  Result operator()(const void* send, void* receive) const {
    return call_(function_, send, receive);
  }

 private:
  const void* function_;
  Result (*call_)(const void*, const void*, void*);
};

/// What this rank passes in a call.
struct Passed {
  Buffers buffers = Buffers::none;
  int gpu = -1;  ///< negative: no memory of a GPU
  Fate fate = Fate::mixed;
};

/// Thread-safe; calls of a communicator are made by one thread at a time.
class BlockingCalls {
 public:
  /// All must outlive it.
  BlockingCalls(const Library& library, const Open& open, GpuOf gpu_of, Turns& turns,
                Counts& counts)
      : library_(library), open_(open), gpu_of_(gpu_of), turns_(turns), counts_(counts) {}

  /// Without a member calls are MPI's.
  [[nodiscard]] Passed passed(const Call& call, const Member* member) const;
  /// Makes the call; `real` does so in MPI, whose result is returned. With a mark it comes behind
  /// that, else behind what is there now. Errors: why a call of ours has failed, at this rank or at
  /// another one, which all ranks are told; those of HostCopies.
  Result make(const Call& call, Member* member, const RealCall& real, const Wait& wait,
              std::unique_ptr<Mark> mark = nullptr);

 private:
  [[nodiscard]] std::optional<int> gpu_that_has(const Side& side) const;
  /// Whether the other ranks may find, too, that the call is ours. Among nodes: whether they do,
  /// and it may be begun.
  [[nodiscard]] bool agree(const Call& call, Member& member, Passed& mine,
                           std::optional<CallOrder::Place>& place, const Wait& wait);
  [[nodiscard]] bool agree_among_nodes(const Call& call, Member& member, Passed& mine,
                                       std::optional<CallOrder::Place>& place, const Wait& wait);
  void await_place(const Call& call, Member& member, std::optional<CallOrder::Place>& place,
                   const Wait& wait);
  /// Makes the call if it is ours, which all ranks find alike.
  [[nodiscard]] bool make_if_ours(const Call& call, Member& member, Passed& mine, const Wait& wait,
                                  std::unique_ptr<Mark> mark);
  [[nodiscard]] Result leave_to_mpi(const Call& call, Fate fate, const RealCall& real) const;

  const Library& library_;
  const Open& open_;
  GpuOf gpu_of_;
  Turns& turns_;
  Counts& counts_;
  CallOrder order_;
};

}  // namespace polypath::mpi
